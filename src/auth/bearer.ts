/**
 * The `Authorization: Bearer` credential: a JWT of the identity provider (RFC 6750, RFC 7519), and the
 * permissions in it.
 */

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify, UnsecuredJWT } from 'jose';
import * as z from 'zod';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import { type FindKey, KeySetUnavailable, keySetOf, type TokenRequest } from './key-set.ts';

/** The difference of clocks that is forgiven. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** Asymmetric algorithms only: a published key must not verify a token that it could also have signed. */
const ASYMMETRIC_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/**
 * The scheme's name is read in either case (RFC 9110 section 11.1). A signature has one spelling: no
 * unused bit of its base64url is set (RFC 4648 section 3.5), so that an altered token is never taken.
 */
const BEARER_JWT =
  /^[Bb][Ee][Aa][Rr][Ee][Rr] +([\w-]+\.[\w-]+\.(?:[\w-]{4})+(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?)$/;

/** The header of an unsecured JWT (RFC 7519 section 6): `{"alg":"none"}`. */
const UNSECURED_HEADER = 'eyJhbGciOiJub25lIn0';

/** A token, judged. */
type Bearer =
  /** `permissions` is the claim as it stands in the token. */
  | { outcome: 'valid'; permissions: unknown }
  /** `fault` is for the log: jose's code, and the claim where one is at fault. */
  | { outcome: 'invalid'; fault: string };

/**
 * Judges the `Authorization` header of a request. No token is valid without issuer, audience and key set.
 * Throws `KeySetUnavailable` when a token of good claims needs keys that cannot be had.
 */
export async function judgeBearer(
  authorization: string,
  jwt: Config['jwt'],
  request: TokenRequest,
): Promise<Bearer> {
  const [, token] = BEARER_JWT.exec(authorization) ?? [];
  const findKey = keySetOf(jwt, request);
  if (token === undefined) return invalid('not a bearer token in compact form');
  if (findKey === undefined) return invalid('no key set is configured');
  if (jwt.issuer === '' || jwt.audience === '')
    return invalid('no issuer or audience is configured');
  const options = {
    issuer: jwt.issuer,
    audience: jwt.audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  };
  try {
    // A claim that rules the token out costs no signature, and needs no provider to be refused.
    UnsecuredJWT.decode(`${UNSECURED_HEADER}.${token.split('.')[1]}.`, options);
    const verifying = { ...options, algorithms: ASYMMETRIC_ALGORITHMS };
    const claims = await verify(token, findKey, verifying);
    return { outcome: 'valid', permissions: claims.permissions };
  } catch (error) {
    if (error instanceof KeySetUnavailable) throw error;
    if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
      return invalid(`${error.code} ${error.claim}`);
    }
    if (error instanceof errors.JOSEError) return invalid(error.code);
    // A malformed or short key of the set is ignored (RFC 7517 section 5), but not in silence.
    logFault('a key of the key set cannot be used', error);
    return invalid('the key cannot be used');
  }
}

function invalid(fault: string): Bearer {
  return { outcome: 'invalid', fault };
}

/** Verifies a token. One without a `kid` is tried with each key that fits its algorithm. */
async function verify(
  token: string,
  findKey: FindKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, findKey, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch {
        // This key did not sign it, or cannot be used: the next one may have.
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Ascending: each level includes those before it. */
const LEVELS = ['viewer', 'editor', 'admin'] as const;

/** The strength of a permission in its area. */
export type Level = (typeof LEVELS)[number];

/** Skips entries that are not strings, and a claim of another form. */
const permissionsClaim = z.array(z.unknown()).catch([]);

/** Reports whether the claim `permissions`, `area:level` strings, holds `area` at `level` or higher. */
export function allows(permissions: unknown, area: string, level: Level): boolean {
  const sufficient = LEVELS.slice(LEVELS.indexOf(level)).map((enough) => `${area}:${enough}`);
  return permissionsClaim
    .parse(permissions)
    .some((held) => sufficient.some((enough) => held === enough));
}
