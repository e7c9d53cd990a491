/** The owner of a key. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { identifyKey } from '../../src/auth/api-key.ts';
import { sha256 } from '../support/keys.ts';

const KEYS = ['first-key', 'second-longer-key', 'ключ'];
const NOW = Date.parse('2027-06-30T23:59:59.999Z');

type KeyConfig = Parameters<typeof identifyKey>[1];

const config: KeyConfig = {
  apiKeys: KEYS,
  namedKeys: [
    { name: 'site', scopes: ['feed:read'], sha256: await sha256('site-key') },
    {
      name: 'old-site',
      scopes: ['feed:read'],
      sha256: await sha256('old-site-key'),
      expires: '2027-06-30',
    },
    { name: 'twice', scopes: ['feed:read'], sha256: await sha256('first-key') },
  ],
  isDevelopment: false,
};

afterEach(() => vi.restoreAllMocks());

describe('an API key', () => {
  it.each(KEYS)('%s opens everything', async (key) => {
    expect(await identifyKey(key, config, NOW)).toEqual({
      outcome: 'valid',
      caller: 'api-key',
      scopes: ['feed:read', 'events:write', 'events:read'],
    });
  });

  it.each([
    'first-ke',
    'first-keY',
    'first-key ',
    'first-key\0',
    'second-longer-key-still',
    'x'.repeat(100_000),
    'first-key,second-longer-key',
    'клю',
    'ключ\0',
    'undefined',
    'site',
    'site-ke',
  ])('%j opens nothing', async (sent) => {
    expect(await identifyKey(sent, config, NOW)).toEqual({ outcome: 'unknown', fault: 'unknown' });
  });

  it('is not its own hash, which stands in the configuration', async () => {
    const sent = await sha256('site-key');
    expect(await identifyKey(sent, config, NOW)).toMatchObject({ outcome: 'unknown' });
  });

  it('opens nothing when it is empty, even if its hash is configured', async () => {
    const none: KeyConfig = { ...config, apiKeys: [], namedKeys: [] };
    expect(await identifyKey('', none, NOW)).toEqual({ outcome: 'unknown', fault: 'empty' });
    const namedKeys = [{ name: 'empty', scopes: ['feed:read' as const], sha256: await sha256('') }];
    expect(await identifyKey('', { ...none, namedKeys }, NOW)).toMatchObject({
      outcome: 'unknown',
    });
  });

  it('is compared with every configured key, whatever was sent and found', async () => {
    const compare = vi.spyOn(crypto.subtle, 'timingSafeEqual');
    const digest = vi.spyOn(crypto.subtle, 'digest');
    await identifyKey('first-key', config, NOW);
    compare.mockClear();
    digest.mockClear();
    for (const sent of ['first-key', 'site-key', 'wrong', 'x'.repeat(10_000)]) {
      await identifyKey(sent, config, NOW);
    }
    const all = KEYS.length + config.namedKeys.length;
    expect(compare).toHaveBeenCalledTimes(4 * all);
    expect(digest).toHaveBeenCalledTimes(4);
  });
});

describe('a named key', () => {
  it('is recognized by its hash, and its name is the caller', async () => {
    expect(await identifyKey('site-key', config, NOW)).toEqual({
      outcome: 'valid',
      caller: 'site',
      scopes: ['feed:read'],
    });
  });

  it('is valid to the end of the day of its date, in UTC', async () => {
    expect(await identifyKey('old-site-key', config, NOW)).toMatchObject({ outcome: 'valid' });
    expect(await identifyKey('old-site-key', config, NOW + 1)).toEqual({
      outcome: 'expired',
      caller: 'old-site',
      fault: 'expired',
    });
  });
});

describe('a key that begins with dev_', () => {
  const API_KEYS = { ...config, apiKeys: ['dev_key_1', 'other'], isDevelopment: false };

  it('opens nothing outside development, and the log says so once', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    for (const sent of ['dev_key_1', 'dev_booking_key', 'dev_key_1']) {
      expect(await identifyKey(sent, API_KEYS, NOW)).toEqual({
        outcome: 'unknown',
        fault: 'a development key',
      });
    }
    expect(await identifyKey('other', API_KEYS, NOW)).toMatchObject({ outcome: 'valid' });
    expect(log).toHaveBeenCalledOnce();
    expect(log.mock.lastCall?.[0]).toContain('begins with dev_: it opens nothing here');
    expect(log.mock.lastCall?.[0]).not.toContain('dev_key_1');
  });

  it('opens everything in development, and nothing is logged', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const inDevelopment = { ...API_KEYS, isDevelopment: true };
    expect(await identifyKey('dev_key_1', inDevelopment, NOW)).toMatchObject({ caller: 'api-key' });
    expect(log).not.toHaveBeenCalled();
  });
});
