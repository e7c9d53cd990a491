/** The owner of a key. */

import { expect, it, vi } from 'vitest';
import { identifyKey } from '../../src/auth/api-key.ts';
import { sha256 } from '../support/keys.ts';

const NOW = Date.parse('2027-06-30T23:59:59.999Z');

type KeyConfig = Parameters<typeof identifyKey>[1];

const scopes: KeyConfig['namedKeys'][number]['scopes'] = ['feed:read'];
const config: KeyConfig = {
  apiKeys: ['first-key-of-all', 'second-longer-key', 'ключ ключ ключ ключ'],
  namedKeys: [
    { name: 'site', scopes, sha256: await sha256('site-key') },
    { name: 'old-site', scopes, sha256: await sha256('old-site-key'), expires: '2027-06-30' },
    { name: 'twice', scopes, sha256: await sha256('first-key-of-all') },
    { name: 'empty', scopes, sha256: await sha256('') },
  ],
  isDevelopment: false,
};

it('a key is compared with every configured key, whatever was sent and found', () => {
  const compare = vi.spyOn(crypto.subtle, 'timingSafeEqual');
  for (const sent of ['first-key-of-all', 'site-key', 'wrong', 'x'.repeat(10_000)]) {
    identifyKey(sent, config, NOW);
  }
  expect(compare).toHaveBeenCalledTimes(4 * 7);
});

it('a key of API_KEY opens everything, also if a named key is the same', () => {
  const verdict = identifyKey('first-key-of-all', config, NOW);
  expect(verdict).toMatchObject({ caller: 'api-key' });
});

it('a named key is recognized by its hash, to the end of the day of its date in UTC', () => {
  const valid = { outcome: 'valid', caller: 'old-site', scopes };
  expect(identifyKey('old-site-key', config, NOW)).toEqual(valid);
  const expired = { outcome: 'expired', caller: 'old-site', fault: 'expired' };
  expect(identifyKey('old-site-key', config, NOW + 1)).toEqual(expired);
  expect(identifyKey('site-key', config, NOW + 1)).toMatchObject({ caller: 'site' });
});

it.each([
  ['begins with dev_', 'dev_key_1_of_the_file', 'a development key', 'begins with dev_'],
  ['has fewer than 16 characters', '15-characters-x', 'a short key', 'fewer than 16 characters'],
])(
  'a key that %s opens everything in development, and nothing elsewhere',
  (_, key, fault, logged) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const production = { ...config, apiKeys: [key, '16-characters-xx'] };
    const development = { ...production, isDevelopment: true };
    expect(identifyKey(key, development, NOW)).toMatchObject({ caller: 'api-key' });
    expect(log).not.toHaveBeenCalled();
    for (let n = 0; n < 2; n += 1) {
      expect(identifyKey(key, production, NOW)).toEqual({ outcome: 'unknown', fault });
    }
    const other = identifyKey('16-characters-xx', production, NOW);
    expect(other).toMatchObject({ outcome: 'valid' });
    expect(log).toHaveBeenCalledOnce();
    expect(log.mock.lastCall?.[0]).toContain(`${logged}: it opens nothing here`);
    expect(log.mock.lastCall?.[0]).not.toContain(key);
  },
);

it('an unknown key that begins with dev_ is a development key in the log', () => {
  const verdict = identifyKey('dev_unknown', config, NOW);
  expect(verdict).toEqual({ outcome: 'unknown', fault: 'a development key' });
});
