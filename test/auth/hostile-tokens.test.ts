/** Bearer tokens without a valid signature: every change of a valid token, and random text. */

import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { expectHarmless, expectWell, hostileHeader, runs } from '../support/hostile.ts';
import { sendWith } from '../support/http.ts';
import { createProvider, encode, usualClaims } from '../support/tokens.ts';

const FEED = '/api/v1/web/properties';
const app = createApp();
const provider = await createProvider();
const token = await provider.sign();
const [header = '', payload = '', signature = ''] = token.split('.');

vi.setConfig({ testTimeout: 120_000 });

afterEach(expectWell);

async function expectRefused(authorization: string) {
  const headers = { Authorization: authorization, 'x-api-key': '' };
  await expectHarmless(await sendWith(provider.vars, FEED, { headers }, app), [401]);
}

describe('a bearer token', () => {
  it('is valid as it was signed', async () => {
    const headers = { Authorization: `Bearer ${token}`, 'x-api-key': '' };
    expect((await sendWith(provider.vars, FEED, { headers }, app)).status).toBe(200);
  });

  it('is refused after any change', async () => {
    const change = fc.record({
      at: fc.nat(token.length - 1),
      cut: fc.nat(3),
      put: fc.string({ unit: fc.constantFrom(...'AQgwZaz09-_.='), maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ at, cut, put }) => {
        const altered = token.slice(0, at) + put + token.slice(at + cut);
        if (altered !== token) await expectRefused(`Bearer ${altered}`);
      }),
      runs(200),
    );
  });

  it('is refused with any other header or claims than the signed ones', async () => {
    const headers = fc.record(
      {
        alg: fc.oneof(fc.constantFrom('ES256', 'none', 'HS256'), fc.string()),
        kid: fc.oneof(fc.constant('key-1'), fc.jsonValue()),
        crit: fc.jsonValue(),
        jwk: fc.constant(provider.jwk),
        b64: fc.boolean(),
      },
      { requiredKeys: ['alg'] },
    );
    const claims = fc.record(
      {
        iss: fc.jsonValue(),
        aud: fc.jsonValue(),
        exp: fc.jsonValue(),
        nbf: fc.jsonValue(),
        permissions: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), headers, claims, async (any, head, body) => {
        await expectRefused(`Bearer ${part(head)}.${payload}.${signature}`);
        await expectRefused(
          `Bearer ${header}.${part({ ...usualClaims(), ...body, jti: 1 })}.${signature}`,
        );
        await expectRefused(`Bearer ${part(any)}.${part(any)}.${signature}`);
      }),
      runs(60),
    );
  });

  it('of random text is refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        hostileHeader,
        fc.constantFrom('', 'Bearer ', 'bearer  ', 'Basic '),
        async (text, scheme) => {
          await expectRefused(`${scheme}${text}`);
        },
      ),
      runs(150),
    );
  });
});

/** A part of a token; texts beyond Latin-1 are left out, as base64 of the browser's kind has no place for them. */
function part(value: unknown): string {
  return encode(JSON.parse(JSON.stringify(value).replaceAll(/[^\x20-\x7e]|\\u[0-9a-f]{4}/gi, '')));
}
