/** The `Authorization: Bearer` credential: a JWT of the identity provider (RFC 6750, RFC 7519). */

import { decodeJwt, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import { CLOCK_TOLERANCE_SECONDS, findBadClaim } from './claims.ts';
import { type FindKey, keySetOf } from './key-set.ts';
import { KeySetUnavailable } from './remote-key-set.ts';

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

export type Bearer =
  /** `permissions` is the claim as it stands in the token. */
  | { outcome: 'valid'; permissions: unknown }
  /** `fault` is for the log: jose's code, and the claim where one is at fault. */
  | { outcome: 'invalid'; fault: string };

/**
 * Judges the `Authorization` header of the request at `requestUrl`. No token is valid without issuer, audience
 * and key set.
 * Throws `KeySetUnavailable` when the keys cannot be had that a token of good claims needs.
 */
export async function judgeBearer(
  authorization: string,
  jwt: Config['jwt'],
  requestUrl: string,
): Promise<Bearer> {
  const [, token] = BEARER_JWT.exec(authorization) ?? [];
  const findKey = keySetOf(jwt, requestUrl);
  if (token === undefined) return invalid('not a bearer token in compact form');
  if (findKey === undefined) return invalid('no key set is configured');
  if (jwt.issuer === '' || jwt.audience === '')
    return invalid('no issuer or audience is configured');
  try {
    // A claim that rules the token out costs no signature, and needs no provider to be refused.
    const badClaim = findBadClaim(decodeJwt(token), jwt, Date.now());
    if (badClaim !== undefined) return invalid(`${codeOf(badClaim)} ${badClaim}`);
    const claims = await verify(token, findKey, {
      algorithms: ASYMMETRIC_ALGORITHMS,
      issuer: jwt.issuer,
      audience: jwt.audience,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    });
    return { outcome: 'valid', permissions: claims.permissions };
  } catch (error) {
    if (error instanceof KeySetUnavailable) throw error;
    if (error instanceof errors.JOSEError) return invalid(error.code);
    // A malformed or short key of the set is to be ignored (RFC 7517 section 5), but not in silence.
    logFault('a key of the key set cannot be used', error);
    return invalid('the key cannot be used');
  }
}

function invalid(fault: string): Bearer {
  return { outcome: 'invalid', fault };
}

/** Returns the code that jose has for a bad claim. */
function codeOf(claim: string): string {
  return claim === 'exp' ? errors.JWTExpired.code : errors.JWTClaimValidationFailed.code;
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
