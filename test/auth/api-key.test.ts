/** Checks which caller each API key identifies. */

import { describe, expect, it, vi } from 'vitest';
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

describe('identifyKey', () => {
  it('compares the presented key with every configured key, even after a match', () => {
    const compare = vi.spyOn(crypto.subtle, 'timingSafeEqual');
    for (const key of ['first-key-of-all', 'site-key', 'wrong', 'x'.repeat(10_000)]) {
      identifyKey(key, config, NOW);
    }
    expect(compare).toHaveBeenCalledTimes(4 * 7);
  });

  it('prefers a key in API_KEY to an identical named key', () => {
    const verdict = identifyKey('first-key-of-all', config, NOW);
    expect(verdict).toMatchObject({ caller: 'api-key' });
  });

  it('accepts a named key until the end of its last day in UTC', () => {
    const valid = { outcome: 'valid', caller: 'old-site', scopes };
    expect(identifyKey('old-site-key', config, NOW)).toEqual(valid);
    const expired = { outcome: 'expired', caller: 'old-site', reason: 'expired' };
    expect(identifyKey('old-site-key', config, NOW + 1)).toEqual(expired);
    expect(identifyKey('site-key', config, NOW + 1)).toMatchObject({ caller: 'site' });
  });

  it.each([
    ['begins with dev_', 'dev_key_1_of_the_file', 'a development key', 'begins with dev_'],
    ['has fewer than 16 characters', '15-characters-x', 'a short key', 'fewer than 16 characters'],
  ])('rejects a key that %s, except in development', (_, key, reason, logged) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const production = { ...config, apiKeys: [key, '16-characters-xx'] };
    const development = { ...production, isDevelopment: true };
    expect(identifyKey(key, development, NOW)).toMatchObject({ caller: 'api-key' });
    expect(log).not.toHaveBeenCalled();
    for (let n = 0; n < 2; n += 1) {
      expect(identifyKey(key, production, NOW)).toEqual({ outcome: 'unknown', reason });
    }
    const other = identifyKey('16-characters-xx', production, NOW);
    expect(other).toMatchObject({ outcome: 'valid' });
    expect(log).toHaveBeenCalledOnce();
    expect(log.mock.lastCall?.[0]).toContain(`${logged}: it opens nothing here`);
    expect(log.mock.lastCall?.[0]).not.toContain(key);
  });

  it('reports an unknown key that begins with dev_ as a development key', () => {
    const verdict = identifyKey('dev_unknown', config, NOW);
    expect(verdict).toEqual({ outcome: 'unknown', reason: 'a development key' });
  });
});
