/**
 * The tokens that Wycheproof has against libraries of JSON Web Signatures. The data file names its
 * source and licence.
 */

import { describe, expect, it } from 'vitest';
import { judgeBearer } from '../../src/auth/bearer.ts';
import { sendWith } from '../support/http.ts';
import { AUDIENCE, ISSUER } from '../support/tokens.ts';
import wycheproof from './wycheproof-jws.json';

type Jwt = Parameters<typeof judgeBearer>[1];

describe.each(wycheproof.groups)('the tokens of the group $comment', (group) => {
  const keys = group.public === undefined ? [] : [group.public];
  const vars = {
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS: JSON.stringify({ keys }),
  };

  it('open nothing, and none is a fault of the service', async () => {
    const statuses = await Promise.all(
      group.tokens.map(async (token) => {
        const headers = { Authorization: `Bearer ${token}`, 'x-api-key': '' };
        return (await sendWith(vars, '/api/v1/web/properties', { headers })).status;
      }),
    );
    expect(statuses).toEqual(Array(group.tokens.length).fill(401));
  });
});

const VIEWER = { area: 'tool-web', level: 'viewer' } as const;

/** Claims that are valid: with them a token is judged by its signature. */
const CLAIMS = btoa(
  JSON.stringify({
    iss: ISSUER,
    aud: AUDIENCE,
    exp: 4_000_000_000,
    permissions: ['tool-web:admin'],
  }),
).replaceAll('=', '');

/** The headers and signatures of a group, around claims that were not signed. */
function forgeriesOf({ tokens }: { tokens: readonly string[] }): string[] {
  return tokens.flatMap((token) => {
    const [header, , signature, ...rest] = token.split('.');
    return signature && rest.length === 0 ? [`${header}.${CLAIMS}.${signature}`] : [];
  });
}

it('their headers and signatures sign no other claims, for the signature is checked', async () => {
  const faults = new Map<string, number>();
  for (const group of wycheproof.groups) {
    if (group.public === undefined) continue;
    const jwt = { issuer: ISSUER, audience: AUDIENCE, jwksUrl: '', jwks: { keys: [group.public] } };
    for (const token of forgeriesOf(group)) {
      const judged = await judgeBearer(`Bearer ${token}`, jwt as Jwt, VIEWER);
      expect(judged.outcome, token).toBe('invalid');
      if (judged.outcome === 'invalid')
        faults.set(judged.fault, (faults.get(judged.fault) ?? 0) + 1);
    }
  }
  // Few are rejected before their signature is checked.
  expect(Object.fromEntries(faults)).toEqual({
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 112,
    ERR_JWKS_NO_MATCHING_KEY: 15,
    ERR_JOSE_ALG_NOT_ALLOWED: 1,
    'not a bearer token in compact form': 2,
  });
});
