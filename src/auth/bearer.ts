/** The `Authorization: Bearer` credential: a JWT of the identity provider (RFC 6750, RFC 7519). */

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify, UnsecuredJWT } from 'jose';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import { type FindKey, keySetOf } from './key-set.ts';
import { KeySetUnavailable } from './remote-key-set.ts';

/** Of these, what verifies cannot sign: nobody can use a published key as a secret. */
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
const CLOCK_TOLERANCE_SECONDS = 30;

/**
 * The scheme's name is read in either case (RFC 9110 section 11.1). A signature has one spelling: no
 * unused bit of its base64url is set (RFC 4648 section 3.5), so that an altered token is never taken.
 */
const BEARER_JWT =
  /^[Bb][Ee][Aa][Rr][Ee][Rr] +([\w-]+)\.([\w-]+)\.((?:[\w-]{4})+(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?)$/;
/** The header `{"alg":"none"}`. */
const UNSECURED_HEADER = 'eyJhbGciOiJub25lIn0';

/** `permissions` is the claim as it stands in the token. */
export type Bearer = { outcome: 'valid'; permissions: unknown } | { outcome: 'invalid' };

/**
 * Judges an `Authorization` header. Without issuer, audience or key set no token is valid.
 * Throws `KeySetUnavailable` when a token that may be valid cannot be verified.
 */
export async function judgeBearer(authorization: string, jwt: Config['jwt']): Promise<Bearer> {
  const [, header, payload, signature] = BEARER_JWT.exec(authorization) ?? [];
  const findKey = keySetOf(jwt);
  if (header === undefined || payload === undefined || signature === undefined) return INVALID;
  if (findKey === undefined || jwt.issuer === '' || jwt.audience === '') return INVALID;
  const options = {
    algorithms: ASYMMETRIC_ALGORITHMS,
    issuer: jwt.issuer,
    audience: jwt.audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  };
  try {
    // The claims first: what they rule out costs no signature, and needs no provider to be refused.
    UnsecuredJWT.decode(`${UNSECURED_HEADER}.${payload}.`, options);
    const claims = await verify(`${header}.${payload}.${signature}`, findKey, options);
    return { outcome: 'valid', permissions: claims.permissions };
  } catch (error) {
    if (error instanceof KeySetUnavailable) throw error;
    if (!(error instanceof errors.JOSEError)) {
      // The set's key is malformed or too short: to be ignored (RFC 7517 section 5), but not in silence.
      logFault('a key of the key set cannot be used', undefined, error);
    }
    return INVALID;
  }
}

const INVALID: Bearer = { outcome: 'invalid' };

/** A token without a `kid` is tried with each key that fits its algorithm. */
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
        // Not signed with this key, or with none that can be used: the next one may be it.
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
