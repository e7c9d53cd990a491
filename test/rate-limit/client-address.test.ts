import { expect, it } from 'vitest';
import { clientOf } from '../../src/rate-limit/client-address.ts';

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002:0000:0000:0000:0001', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['1::', '1:0:0:0::/64'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:0.0.0.1', '0.0.0.1'],
  ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
])('%s is counted as %s', (address, client) => {
  expect(clientOf(address, undefined)).toBe(client);
});

it.each([
  undefined,
  '',
  'unknown',
  '203.0.113',
  '203.0.113.256',
  '203.0.113.07',
  '0x7f.1',
  '1',
  '203.0.113.7, 198.51.100.1',
  '203.0.113.7:443',
  '[2001:db8::1]',
  '2001:db8::1%eth0',
  '2001:db8:::1',
  '1:2:3:4:5:6:7',
  '::]/[',
  'a'.repeat(10_000),
])('%j is counted with all unreadable addresses', (address) => {
  expect(clientOf(address, undefined)).toBe('unknown');
});

it('counts the Workers of other zones by their zone', () => {
  const shared = '2a06:98c0:3600::103';
  expect(clientOf(shared, 'One.example')).toBe('worker one.example');
  expect(clientOf(shared, 'two.example')).toBe('worker two.example');
  expect(clientOf(shared, undefined)).toBe('2a06:98c0:3600:0::/64');
});

it('ignores the CF-Worker of a client that has its own address', () => {
  expect(clientOf('203.0.113.7', 'one.example')).toBe('203.0.113.7');
  expect(clientOf('2001:db8:1:2::1', 'one.example')).toBe('2001:db8:1:2::/64');
  expect(clientOf('nonsense', 'one.example')).toBe('unknown');
  expect(clientOf(undefined, 'one.example')).toBe('unknown');
});
