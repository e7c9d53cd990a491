/** Verifies valid and forged bearer tokens with the keys of an identity provider that sometimes fails. */

import { base64url, CompactSign } from 'jose';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { expectError, expectStatus, sendWith } from '../support/http.ts';
import { watchLog } from '../support/log.ts';
import { createProvider } from '../support/tokens.ts';

const app = createApp();
const provider = await createProvider('key-1');
const rotated = await createProvider('key-2');
const stranger = await createProvider('key-1');
const now = Math.floor(Date.now() / 1_000);

/** Vars that make the service fetch the key set. The URL is different in each test. */
let remote: Partial<Env>;
let respond: () => Response | Promise<Response>;
let fetched: string[];

beforeEach(() => {
  // A new URL prevents a test from using a key set that the service has cached.
  const JWT_JWKS_URL = `https://identity.example.com/${crypto.randomUUID()}/jwks`;
  remote = { JWT_JWKS: '', JWT_JWKS_URL };
  respond = () => new Response(provider.jwks);
  fetched = [];
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    fetched.push(String(input));
    const stopped = new Promise<never>((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
    return Promise.race([stopped, Promise.resolve().then(respond)]);
  });
});

/** Reads the feed with a token and an invalid API key. A valid token is sufficient. */
function present(token: string, vars: Partial<Env> = provider.vars) {
  const headers = { Authorization: `Bearer ${token}`, 'x-api-key': 'wrong' };
  return sendWith(vars, '/api/v1/web/properties', { headers }, app);
}

async function expectValid(token: string, vars?: Partial<Env>) {
  await expectStatus(await present(token, vars), 200);
}

async function expectInvalid(token: string, vars?: Partial<Env>) {
  await expectError(await present(token, vars), 401, 'authentication_invalid');
}

function passSeconds(seconds: number) {
  vi.setSystemTime(Date.now() + seconds * 1_000);
}

const signed = await provider.sign();
const [header = '', payload = '', signature = ''] = signed.split('.');

/** A token that is signed with HMAC, with the provider's public key as the secret. */
const hmac = await new CompactSign(base64url.decode(payload))
  .setProtectedHeader({ alg: 'HS256', kid: 'key-1', typ: 'JWT' })
  .sign(new TextEncoder().encode(JSON.stringify(provider.jwk)));

/** Returns the next base64url character, whose value differs only in the last bit. */
function nextCharacter(character = 'A'): string {
  return String.fromCharCode(character.charCodeAt(0) + 1);
}

const REJECTED = {
  'alg none': `${base64url.encode('{"alg":"none"}')}.${payload}.`,
  'HS256 with the public key': hmac,
  'an unused bit set': `${header}.${payload}.${signature.slice(0, -1)}${nextCharacter(signature.at(-1))}`,
  'an unknown kid': await provider.sign({}, { kid: 'key-2' }),
  'a second token': `${signed}, Bearer ${await stranger.sign()}`,
};

describe('a bearer token', () => {
  it.each(Object.entries(REJECTED))('is rejected if it has %s', (_, token) => expectInvalid(token));

  it.each([
    ['the audience in a list', { aud: ['other', 'events-and-property-feed'] }],
    ['an expiry 20 seconds ago and only required claims', { exp: now - 20, iat: undefined }],
    ['a start time in 20 seconds', { nbf: now + 20 }],
  ])('is accepted if it has %s', async (_, changes) => {
    await expectValid(await provider.sign(changes));
  });
});

it.each(['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'])(
  'accepts a token that is signed with %s',
  async (alg) => {
    const other = await createProvider('key-1', alg);
    await expectValid(await other.sign(), other.vars);
  },
);

describe('a token whose kid belongs to two keys', () => {
  const { jwk } = provider;
  const sets = [[jwk], [jwk, stranger.jwk], [stranger.jwk, jwk]];

  it.each([
    ['is valid', provider, {}, undefined],
    ['has expired', provider, { exp: now - 31 }, 'ERR_JWT_EXPIRED exp'],
    ['has no expiry', provider, { exp: undefined }, 'ERR_JWT_CLAIM_VALIDATION_FAILED exp'],
    ['has another audience', provider, { aud: 'a' }, 'ERR_JWT_CLAIM_VALIDATION_FAILED aud'],
    ['has another issuer', provider, { iss: 'a' }, 'ERR_JWT_CLAIM_VALIDATION_FAILED iss'],
    ['is not yet valid', provider, { nbf: now + 40 }, 'ERR_JWT_CLAIM_VALIDATION_FAILED nbf'],
    ['is signed with neither key', rotated, {}, 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
  ])(
    'is accepted or rejected for the right reason if it %s',
    async (_, { sign }, claims, reason) => {
      const log = watchLog('log');
      for (const keys of sets) {
        for (const kid of ['key-1', undefined]) {
          const token = await sign(claims, { kid });
          const response = await present(token, { JWT_JWKS: JSON.stringify({ keys }) });
          await expectStatus(response, reason === undefined ? 200 : 401);
          expect(log().at(-1).token_fault).toBe(reason);
        }
      }
    },
  );
});

it('ignores an RSA key that is too short (RFC 7517 section 5)', async () => {
  const other = await createProvider('key-1', 'RS256');
  const short = { kty: 'RSA', n: `${'w'.repeat(170)}Q`, e: 'AQAB', kid: 'key-0' };
  const vars = { ...other.vars, JWT_JWKS: JSON.stringify({ keys: [short, other.jwk] }) };
  await expectInvalid(await other.sign({}, { kid: 'key-0' }), vars);
  await expectValid(await other.sign({}, { kid: undefined }), vars);
});

it.each([
  ['JWT_ISSUER', { iss: '' }],
  ['JWT_AUDIENCE', { aud: '' }],
  ['JWT_JWKS', {}],
])('rejects every token if %s is empty', async (name, claims) => {
  for (const token of [signed, await provider.sign(claims)]) {
    await expectInvalid(token, { ...provider.vars, [name]: '' });
  }
});

const unreachable = () => {
  throw new TypeError('connection refused by 10.1.2.3');
};

describe('a provider that responds', () => {
  it('can withdraw a key within ten minutes', async () => {
    await expectValid(await provider.sign(), remote);
    respond = () => new Response(rotated.jwks);
    passSeconds(599);
    await expectValid(await provider.sign(), remote);
    passSeconds(2);
    await expectInvalid(await provider.sign(), remote);
    await expectValid(await rotated.sign(), remote);
    expect(fetched).toHaveLength(2);
  });

  it('is called at most once in 30 seconds for an unknown kid', async () => {
    await expectValid(await provider.sign(), remote);
    respond = () => new Response(JSON.stringify({ keys: [provider.jwk, rotated.jwk] }));
    passSeconds(29);
    await expectInvalid(await rotated.sign(), remote);
    expect(fetched).toHaveLength(1);
    passSeconds(2);
    await expectValid(await rotated.sign(), remote);
    for (const fetches of [2, 2, 3, 3]) {
      if (fetches > fetched.length) passSeconds(31);
      await expectInvalid(await provider.sign({}, { kid: crypto.randomUUID() }), remote);
      expect(fetched).toHaveLength(fetches);
    }
  });

  it('is called at most four times for 100 concurrent tokens with unknown kids', async () => {
    await expectValid(await provider.sign(), remote);
    passSeconds(31);
    const blocked = Promise.withResolvers<Response>();
    respond = () => blocked.promise.then((response) => response.clone());
    const kids = Array.from({ length: 100 }, () => crypto.randomUUID());
    const storm = kids.map(async (kid) => expectInvalid(await provider.sign({}, { kid }), remote));
    await vi.waitFor(() => expect(fetched).toHaveLength(1 + 4));
    await expectValid(await provider.sign(), remote);
    blocked.resolve(new Response(provider.jwks));
    await Promise.all(storm);
    expect(fetched).toHaveLength(1 + 4);
  });

  it('is called separately by each of the first requests', async () => {
    const blocked = Promise.withResolvers<Response>();
    respond = () => (fetched.length === 1 ? blocked.promise : new Response(provider.jwks));
    const first = expectValid(await provider.sign(), remote);
    await vi.waitFor(() => expect(fetched).toHaveLength(1));
    await expectValid(await provider.sign(), remote);
    blocked.resolve(new Response(provider.jwks));
    await first;
  });

  it('may publish keys of unknown types', async () => {
    const keys = [{ kty: 'future' }, { kty: 'oct', k: 'AA', kid: 'key-1' }, provider.jwk];
    respond = () => new Response(JSON.stringify({ keys }));
    await expectValid(await provider.sign(), remote);
  });

  describe('with malformed entries next to a good key', () => {
    const BROKEN = [null, 'canary', {}, { kid: 'old', n: 'canary' }, { kty: 'EC', kid: 'key-1' }];
    const keys = [...BROKEN, provider.jwk];
    const malformedEntries = [
      'entry 0 is not a JSON object',
      'entry 1 is not a JSON object',
      'entry 2 has no valid kty',
      'entry 3 (kid "old") has no valid kty',
    ];
    const token = () => provider.sign({}, { kid: undefined });

    it('causes one log line per entry and URL', async () => {
      const log = watchLog('error');
      respond = () => new Response(JSON.stringify({ keys }));
      for (const url of [remote.JWT_JWKS_URL, `${remote.JWT_JWKS_URL}/2`]) {
        const vars = { ...remote, JWT_JWKS_URL: url } as Partial<Env>;
        const lines = log().length;
        for (let fetches = 0; fetches < 3; fetches += 1) {
          await expectValid(await token(), vars);
          passSeconds(601);
        }
        expect(log().slice(lines)).toEqual(
          malformedEntries.map((entry) => ({
            level: 'error',
            message: 'an entry of the key set is ignored',
            request_id: expect.stringMatching(/^req_/),
            cause: expect.stringContaining(`Error: JWT_JWKS_URL ${url}: ${entry}\n`),
          })),
        );
      }
      expect(fetched).toHaveLength(6);
      expect(JSON.stringify(log())).not.toContain('canary');
    });

    it('causes one log line per entry of JWT_JWKS', async () => {
      const log = watchLog('error');
      const vars = { JWT_JWKS: JSON.stringify({ keys }) };
      for (let tokens = 0; tokens < 2; tokens += 1) await expectValid(await token(), vars);
      const causes = log().map(({ cause }) => cause);
      expect(causes).toEqual(
        malformedEntries.map((entry) => expect.stringContaining(`JWT_JWKS: ${entry}\n`)),
      );
      expect(JSON.stringify(log())).not.toContain('canary');
    });

    it('leaves the last good keys in use when only malformed entries are left', async () => {
      await expectValid(await provider.sign(), remote);
      const log = watchLog('error');
      respond = () => new Response(JSON.stringify({ keys: BROKEN.slice(0, 4) }));
      passSeconds(601);
      await expectValid(await provider.sign({ exp: now + 9_000 }), remote);
      expect(log().at(-1).cause).toContain('without a usable key');
    });
  });

  it('is not called for a token that can be rejected without keys', async () => {
    for (const token of [hmac, 'not-a-token']) {
      await expectInvalid(token, remote);
    }
    expect(fetched).toEqual([]);
  });
});

it('uses the last good keys while the provider fails', async () => {
  const token = await provider.sign({ exp: Math.floor(Date.now() / 1_000) + 200_000 });
  await expectValid(token, remote);
  respond = unreachable;
  for (const seconds of [100_000, 0, 29]) {
    passSeconds(seconds);
    await expectValid(token, remote);
    expect(fetched).toHaveLength(2);
  }
  respond = () => new Response(rotated.jwks);
  passSeconds(1);
  await expectInvalid(token, remote);
  await expectValid(await rotated.sign(), remote);
});

describe('a provider whose key set is not cached', () => {
  const issuer = 'https://identity.example.com';
  it.each<[string, () => Response | Promise<Response>, logged: string]>([
    ['cannot be reached', unreachable, 'connection refused by 10.1.2.3'],
    ['responds with 503', () => new Response(provider.jwks, { status: 503 }), 'the status 503'],
    ['redirects', () => Response.redirect(`${issuer}/keys`, 301), 'the status 301'],
    ['responds with an HTML page', () => new Response('<html>not keys</html>'), 'no JSON object'],
    ['responds with nothing', () => new Response(''), 'no JSON object'],
    ['responds with an empty object', () => Response.json({}), 'an object with no field'],
    [
      'responds with its discovery document',
      () => Response.json({ issuer, jwks_uri: `${issuer}/keys` }),
      'an object with issuer, jwks_uri',
    ],
    ['responds with one key', () => Response.json(provider.jwk), 'an object with kty, '],
    ['responds with an invalid set', () => new Response('{"keys":"none"}'), 'an object with keys'],
    [
      'responds with no usable key',
      () => new Response('{"keys":[{"kty":"oct","k":"AA"}]}'),
      'without a usable key',
    ],
    [
      'responds with malformed entries only',
      () => Response.json({ keys: [null, { kid: 'key-1' }] }),
      'without a usable key',
    ],
    [
      'responds with a private key',
      () => Response.json({ keys: [{ ...provider.jwk, d: 'AA' }] }),
      'without a usable key',
    ],
  ])('causes a 500 whose cause appears only in the log if it %s', async (_, broken, cause) => {
    const log = watchLog('error');
    respond = broken;
    const response = await present(await provider.sign(), remote);
    const error = await expectError(response, 500, 'internal_error');
    expect(JSON.stringify(error)).not.toContain('10.1.2.3');
    const message = 'the key set could not be renewed';
    const line = log().find((entry) => entry.message === message);
    expect(line).toMatchObject({ message, request_id: error.request_id });
    expect(line.cause).toContain(cause);
    if (broken !== unreachable)
      expect(line.cause).toMatch(/JWT_JWKS_URL has .* must be the address/);
    respond = () => new Response(provider.jwks);
    passSeconds(1);
    await expectValid(await provider.sign(), remote);
  });

  it('is called once a second if it fails, regardless of the number of tokens', async () => {
    respond = unreachable;
    for (const fetches of [1, 2]) {
      for (let sent = 0; sent < 40; sent += 1) {
        const token = await stranger.sign({}, { kid: crypto.randomUUID() });
        await expectError(await present(token, remote), 500, 'internal_error');
      }
      expect(fetched).toHaveLength(fetches);
      passSeconds(1);
    }
  });

  it.each<[kind: string, status: number, end: (blocked: PromiseWithResolvers<Response>) => void]>([
    ['is slow', 200, (blocked) => blocked.resolve(new Response(provider.jwks))],
    ['fails after a while', 500, (blocked) => blocked.reject(new Error('reset'))],
  ])(
    'is called four times for 40 concurrent tokens if it %s (status %i)',
    async (_, status, end) => {
      const blocked = Promise.withResolvers<Response>();
      respond = () => blocked.promise.then((response) => response.clone());
      const storm = Array.from({ length: 40 }, async () => present(await provider.sign(), remote));
      await vi.waitFor(() => expect(fetched).toHaveLength(4));
      end(blocked);
      for (const response of await Promise.all(storm)) await expectStatus(response, status);
      expect(fetched).toHaveLength(4);
    },
  );
});
