/**
 * The tokens that Wycheproof has against libraries of JSON Web Signatures. The data file names its
 * source and licence.
 */

import { expect, it } from 'vitest';
import { judgeBearer } from '../../src/auth/bearer.ts';
import { AUDIENCE, encode, ISSUER } from '../support/tokens.ts';
import wycheproof from './wycheproof-jws.json';

type Jwt = Parameters<typeof judgeBearer>[1];

/** Claims that are valid: with them a token is judged by its signature. */
const CLAIMS = encode({
  iss: ISSUER,
  aud: AUDIENCE,
  exp: 4_000_000_000,
  permissions: ['tool-web:admin'],
});

/** The token, and its header and signature around claims that were not signed. */
function forgeriesOf(token: string): string[] {
  const [header, , signature, ...rest] = token.split('.');
  return signature && rest.length === 0 ? [token, `${header}.${CLAIMS}.${signature}`] : [token];
}

it('no token opens anything, and its header and signature sign no other claims', async () => {
  const faults = new Map<string, number>();
  for (const { public: key, tokens } of wycheproof.groups) {
    const jwks = { keys: key === undefined ? [] : [key] };
    const jwt = { issuer: ISSUER, audience: AUDIENCE, jwksUrl: '', jwks } as Jwt;
    for (const token of tokens.flatMap(forgeriesOf)) {
      const permission = { area: 'tool-web', level: 'viewer' } as const;
      const judged = await judgeBearer(`Bearer ${token}`, jwt, permission);
      const fault = judged.outcome === 'invalid' ? judged.fault : judged.outcome;
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
    }
  }
  // Most tokens have other claims, and are rejected before their signature is checked.
  expect(Object.fromEntries(faults)).toEqual({
    ERR_JWT_INVALID: 135,
    ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 112,
    'not a bearer token in compact form': 64,
    ERR_JOSE_ALG_NOT_ALLOWED: 21,
    ERR_JWKS_NO_MATCHING_KEY: 15,
  });
});
