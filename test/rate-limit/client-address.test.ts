import { expect, it } from 'vitest';
import { resolveClient } from '../../src/rate-limit/client-address.ts';

const OTHER_ZONES = '2a06:98c0:3600::103';

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002:0000:0000:0000:0001', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['1::', '1:0:0:0::/64'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:0.0.0.1', '0.0.0.1'],
  ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
  [OTHER_ZONES, '2a06:98c0:3600:0::/64'],
])('identifies %s as the client %s', (address, client) => {
  expect(resolveClient(address, undefined)).toBe(client);
});

it('treats all missing and unreadable addresses as one client', () => {
  const unreadable = '203.0.113 203.0.113.256 203.0.113.07 0x7f.1 203.0.113.7:443 [2001:db8::1]';
  const addresses = `${unreadable} 2001:db8::1%eth0 2001:db8:::1 1:2:3:4:5:6:7 ::]/[`.split(' ');
  for (const address of [undefined, '', '203.0.113.7, 198.51.100.1', ...addresses]) {
    expect([address, resolveClient(address, undefined)]).toEqual([address, 'unknown']);
  }
});

it('identifies Workers of other zones by a zone name that no other client can claim', () => {
  expect(resolveClient(OTHER_ZONES, 'One.example')).toBe('worker one.example');
  expect(resolveClient(OTHER_ZONES, 'two.example')).toBe('worker two.example');
  expect(resolveClient('203.0.113.7', 'one.example')).toBe('203.0.113.7');
  expect(resolveClient('2001:db8:1:2::1', 'one.example')).toBe('2001:db8:1:2::/64');
  expect(resolveClient(undefined, 'one.example')).toBe('unknown');
});
