/**
 * The key set at an identity provider: how often it is fetched, and which keys are used while the
 * provider fails.
 */

import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { expectError, expectStatus, sendWith } from '../support/http.ts';
import { AUDIENCE, createProvider, encode, ISSUER, usualClaims } from '../support/tokens.ts';

const LIST = '/api/v1/web/properties';
const app = createApp();
const provider = await createProvider('key-1');
const rotated = await createProvider('key-2');

let url: string;
let respond: () => Response | Promise<Response>;
let fetched: string[];
let log: MockInstance<typeof console.error>;

beforeEach(() => {
  // Each test has its own address, because the service keeps the key set of an address.
  url = `https://identity.example.com/${crypto.randomUUID()}/jwks`;
  respond = () => new Response(provider.jwks);
  fetched = [];
  vi.useFakeTimers({ toFake: ['Date'] });
  log = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    fetched.push(String(input));
    const stopped = new Promise<never>((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
    return Promise.race([stopped, Promise.resolve().then(respond)]);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function present(token: string, address = url) {
  const vars = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS: '', JWT_JWKS_URL: address };
  const headers = { Authorization: `Bearer ${token}`, 'x-api-key': 'wrong' };
  return sendWith(vars, LIST, { headers }, app);
}

function passSeconds(seconds: number) {
  vi.setSystemTime(Date.now() + seconds * 1_000);
}

const unreachable = () => {
  throw new TypeError('connection refused by 10.1.2.3');
};

describe('a provider that responds', () => {
  it('is asked again after ten minutes, and its withdrawn key is rejected', async () => {
    await expectStatus(await present(await provider.sign()), 200);
    respond = () => new Response(rotated.jwks);
    passSeconds(599);
    await expectStatus(await present(await provider.sign()), 200);
    passSeconds(2);
    await expectError(await present(await provider.sign()), 401, 'authentication_invalid');
    await expectStatus(await present(await rotated.sign()), 200);
    expect(fetched).toHaveLength(2);
  });

  it('is asked again for an unknown kid, once in 30 seconds', async () => {
    await expectStatus(await present(await provider.sign()), 200);
    respond = () => new Response(JSON.stringify({ keys: [provider.jwk, rotated.jwk] }));
    passSeconds(29);
    await expectError(await present(await rotated.sign()), 401, 'authentication_invalid');
    expect(fetched).toHaveLength(1);
    passSeconds(2);
    await expectStatus(await present(await rotated.sign()), 200);
    expect(fetched).toHaveLength(2);
    for (let index = 0; index < 5; index += 1) {
      const unknown = await provider.sign({}, { kid: `unknown-${index}` });
      await expectError(await present(unknown), 401, 'authentication_invalid');
    }
    expect(fetched).toHaveLength(2);
    passSeconds(31);
    const unknown = await provider.sign({}, { kid: 'unknown' });
    await expectError(await present(unknown), 401, 'authentication_invalid');
    await expectError(await present(unknown), 401, 'authentication_invalid');
    expect(fetched).toHaveLength(3);
  });

  it('may publish keys of kinds that are not known here', async () => {
    respond = () =>
      new Response(
        JSON.stringify({
          keys: [{ kty: 'future' }, { kty: 'oct', k: 'AA', kid: 'key-1' }, provider.jwk],
        }),
      );
    await expectStatus(await present(await provider.sign()), 200);
  });

  it('is not asked for keys when a token can be rejected without them', async () => {
    respond = unreachable;
    const usual = usualClaims();
    for (const token of [
      'not-a-token',
      `${encode({ alg: 'none' })}.${encode(usual)}.`,
      `${encode({ alg: 'HS256', kid: 'key-1' })}.${encode(usual)}.AAAA`,
      await provider.sign({ exp: Math.floor(Date.now() / 1_000) - 60 }),
      await provider.sign({ iss: 'https://attacker.example/' }),
      await provider.sign({ aud: 'other' }),
    ]) {
      await expectError(await present(token), 401, 'authentication_invalid');
    }
    expect(fetched).toEqual([]);
  });
});

describe('the last good keys', () => {
  it('are used while the provider cannot be reached, which is asked again every 30 seconds', async () => {
    const token = await provider.sign({ exp: Math.floor(Date.now() / 1_000) + 200_000 });
    await expectStatus(await present(token), 200);
    respond = unreachable;
    passSeconds(100_000);
    await expectStatus(await present(token), 200);
    await expectStatus(await present(token), 200);
    expect(fetched).toHaveLength(2);
    passSeconds(29);
    await expectStatus(await present(token), 200);
    expect(fetched).toHaveLength(2);
    respond = () => new Response(rotated.jwks);
    passSeconds(1);
    await expectError(await present(token), 401, 'authentication_invalid');
    await expectStatus(await present(await rotated.sign()), 200);
  });
});

describe('with no key known, a provider that', () => {
  it.each<[string, () => Response | Promise<Response>]>([
    ['cannot be reached', unreachable],
    ['responds with 503', () => new Response(provider.jwks, { status: 503 })],
    [
      'redirects',
      () => new Response(null, { status: 302, headers: { Location: 'https://x.example' } }),
    ],
    ['responds with a page', () => new Response('<html>not keys</html>')],
    ['responds with another JSON', () => new Response('{"keys":"none"}')],
    ['responds with no usable key', () => new Response('{"keys":[{"kty":"oct","k":"AA"}]}')],
    ['responds with nothing', () => new Response('')],
  ])('%s gives a 500 that is logged and not shown', async (_, broken) => {
    respond = broken;
    const response = await present(await provider.sign());
    const error = await expectError(response, 500, 'internal_error');
    expect(JSON.stringify(error)).not.toContain('10.1.2.3');
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    const message = 'the key set could not be renewed';
    expect(lines[0]).toMatchObject({ message, request_id: error.request_id });
    respond = () => new Response(provider.jwks);
    passSeconds(1);
    await expectStatus(await present(await provider.sign()), 200);
  });

  it('never responds gives a 500 after 5 seconds', async () => {
    respond = () => new Promise(() => {});
    const stop = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(stop.signal);
    const response = present(await provider.sign());
    await vi.waitFor(() => expect(fetched).toEqual([url]));
    stop.abort(new DOMException('The operation timed out.', 'TimeoutError'));
    await expectError(await response, 500, 'internal_error');
    expect(timeout.mock.calls).toEqual([[5_000]]);
  });
});
