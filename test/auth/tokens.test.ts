/**
 * Tokens that are rejected, forged by a list and at random, and deployments that accept no token.
 */

import { CompactSign, exportSPKI, importJWK } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { expectError, expectStatus, sendWith } from '../support/http.ts';
import { AUDIENCE, createProvider, encode, ISSUER, usualClaims } from '../support/tokens.ts';

const LIST = '/api/v1/web/properties';
const app = createApp();
const provider = await createProvider();
const stranger = await createProvider('key-1');
const now = Math.floor(Date.now() / 1_000);

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** GETs the feed with a token alone. */
function present(token: string, vars: Partial<Env> = provider.vars) {
  const headers = { Authorization: `Bearer ${token}`, 'x-api-key': 'wrong' };
  return sendWith(vars, LIST, { headers }, app);
}

const claims = usualClaims();
const signed = await provider.sign();
const [header = '', payload = '', signature = ''] = signed.split('.');

/** Signs any claims with a secret that the attacker knows. */
async function hmac(secret: Uint8Array, alg = 'HS256') {
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg, kid: 'key-1', typ: 'JWT' })
    .sign(secret);
}

const publicKey = await importJWK(provider.jwk, 'ES256', { extractable: true });
const publicPem = publicKey instanceof Uint8Array ? '' : await exportSPKI(publicKey);

/** The character that decodes to the same six bits but the last. */
function nextOf(character = 'A'): string {
  return String.fromCharCode(character.charCodeAt(0) + 1);
}

const FORGED: Record<string, string> = {
  'alg none': `${encode({ alg: 'none' })}.${encode(claims)}.`,
  'alg None with a signature': `${encode({ alg: 'None', kid: 'key-1' })}.${encode(claims)}.${signature}`,
  'HS256 with the public key': await hmac(new TextEncoder().encode(publicPem)),
  'HS256 with the JWK': await hmac(new TextEncoder().encode(JSON.stringify(provider.jwk))),
  'another algorithm named': `${encode({ alg: 'RS256', kid: 'key-1' })}.${payload}.${signature}`,
  'an unknown algorithm': `${encode({ alg: 'ES999', kid: 'key-1' })}.${payload}.${signature}`,
  'no signature': `${header}.${payload}.`,
  'an unused bit set': `${header}.${payload}.${signature.slice(0, -1)}${nextOf(signature.at(-1))}`,
  'a signature of zeros': `${header}.${payload}.${'A'.repeat(86)}`,
  'the key of a stranger': await stranger.sign(),
  'the key of a stranger in jwk': await stranger.sign({}, { jwk: stranger.jwk }),
  'the key of a stranger at jku': await stranger.sign({}, { jku: 'https://attacker.example/jwks' }),
  'the key of a stranger at x5u': await stranger.sign({}, { x5u: 'https://attacker.example/x5u' }),
  'an unknown kid': await provider.sign({}, { kid: 'key-2' }),
  'an unknown critical header': `${encode({ alg: 'ES256', kid: 'key-1', crit: ['x'], x: 1 })}.${payload}.${signature}`,
  'an unencoded payload': `${encode({ alg: 'ES256', kid: 'key-1', crit: ['b64'], b64: false })}.${payload}.${signature}`,
  'a payload that is a list': `${header}.${encode([claims])}.${signature}`,
  'two parts': `${header}.${payload}`,
  'two tokens': `${signed}, Bearer ${signed}`,
};

describe('a token with', () => {
  it.each(Object.keys(FORGED))('%s is rejected', async (name) => {
    const fetched = vi.spyOn(globalThis, 'fetch');
    const response = await present(FORGED[name] ?? '');
    await expectError(response, 401, 'authentication_invalid');
    expect(fetched).not.toHaveBeenCalled();
  });

  it.each([
    ['another issuer', { iss: 'https://identity.example.com' }],
    ['no issuer', { iss: undefined }],
    ['a list of issuers', { iss: [ISSUER] }],
    ['another audience', { aud: 'other' }],
    ['no audience', { aud: undefined }],
    ['no expiry', { exp: undefined }],
    ['an expiry in text', { exp: String(now + 60) }],
    ['an expiry 30 seconds ago', { exp: now - 31 }],
    ['a begin 30 seconds away', { nbf: now + 40 }],
  ])('%s is rejected', async (_, changes) => {
    const token = await provider.sign(changes);
    await expectError(await present(token), 401, 'authentication_invalid');
  });

  it.each([
    ['the audience in a list', { aud: ['other', AUDIENCE] }],
    ['an expiry 20 seconds ago', { exp: now - 20 }],
    ['a begin 20 seconds away', { nbf: now + 20 }],
    ['no other claim than the needed ones', { sub: undefined, iat: undefined }],
  ])('%s is accepted', async (_, changes) => {
    await expectStatus(await present(await provider.sign(changes)), 200);
  });
});

it.each(['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'])('%s is accepted', async (alg) => {
  const other = await createProvider('key-1', alg);
  await expectStatus(await present(await other.sign(), other.vars), 200);
});

it('a token without a kid is tried with each key', async () => {
  const other = await createProvider('key-2');
  const vars = { ...provider.vars, JWT_JWKS: JSON.stringify({ keys: [provider.jwk, other.jwk] }) };
  await expectStatus(await present(await other.sign({}, { kid: undefined }), vars), 200);
  await expectError(
    await present(await stranger.sign({}, { kid: undefined }), vars),
    401,
    'authentication_invalid',
  );
});

/**
 * RFC 7517 section 5: keys that lack a member, or whose values are out of range, are to be ignored.
 */
const UNUSABLE = [
  ['an RSA key that is too short', 'RS256', { kty: 'RSA', n: `${'w'.repeat(170)}Q`, e: 'AQAB' }],
  ['an RSA key without an exponent', 'RS256', { kty: 'RSA', n: 'w'.repeat(342) }],
  ['a point beside the curve', 'ES256', { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' }],
] as const;

it.each(UNUSABLE)('%s in the key set is ignored', async (_, alg, unusable) => {
  vi.spyOn(console, 'error').mockReturnValue(undefined);
  const other = await createProvider('key-1', alg);
  const keys = [{ ...unusable, kid: 'key-0' }, other.jwk];
  const vars = { ...other.vars, JWT_JWKS: JSON.stringify({ keys }) };
  const naming = await other.sign({}, { kid: 'key-0' });
  await expectError(await present(naming, vars), 401, 'authentication_invalid');
  await expectStatus(await present(await other.sign(), vars), 200);
  await expectStatus(await present(await other.sign({}, { kid: undefined }), vars), 200);
});

describe('without', () => {
  it.each(['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS'] as const)(
    '%s every token is rejected',
    async (name) => {
      const claims = { JWT_ISSUER: { iss: '' }, JWT_AUDIENCE: { aud: '' }, JWT_JWKS: {} }[name];
      for (const token of [signed, await provider.sign(claims)]) {
        const response = await present(token, { ...provider.vars, [name]: '' });
        await expectError(response, 401, 'authentication_invalid');
      }
    },
  );
});
