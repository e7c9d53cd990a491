/**
 * The `Authorization: Bearer` credential: a JWT of the identity provider (RFC 6750, RFC 7519), and
 * its permissions. jose verifies it.
 */

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Config } from '../config.ts';
import { logError } from '../http/log.ts';
import { type FindKey, findKeySet, KeySetUnavailable } from './key-set.ts';

const CLOCK_TOLERANCE_SECONDS = 30;

/** With a symmetric algorithm, the published key could sign a token. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/**
 * The scheme has any case (RFC 9110 section 11.1). A signature has one spelling: the unused bits of
 * its base64url are zero (RFC 4648 section 3.5).
 */
const BEARER_JWT =
  /^[Bb][Ee][Aa][Rr][Ee][Rr] +([\w-]+\.[\w-]+\.(?:[\w-]{4})+(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?)$/;

/** Each level includes the levels before it. */
const LEVELS = ['viewer', 'editor', 'admin'] as const;

type Permission = { area: string; level: (typeof LEVELS)[number] };

/** `fault` is for the log: jose's code with the bad claim, or the missing permission. */
export type Bearer =
  | { outcome: 'valid' }
  | { outcome: 'denied' | 'expired' | 'invalid'; fault: string };

/**
 * Judges the `Authorization` header. No token is valid unless issuer, audience and key set are
 * configured. Throws `KeySetUnavailable` if the keys cannot be fetched.
 */
export async function verifyBearer(
  authorization: string,
  jwt: Config['jwt'],
  permission: Permission,
): Promise<Bearer> {
  const [, token] = BEARER_JWT.exec(authorization) ?? [];
  const findKey = findKeySet(jwt);
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
    const claims = await verify(token, findKey, { ...options, algorithms: ALGORITHMS });
    const fault = findPermissionFault(claims.permissions, permission);
    return fault === undefined ? { outcome: 'valid' } : { outcome: 'denied', fault };
  } catch (error) {
    if (error instanceof KeySetUnavailable) throw error;
    if (error instanceof errors.JWTExpired)
      return { outcome: 'expired', fault: `${error.code} exp` };
    if (error instanceof errors.JWTClaimValidationFailed) {
      return invalid(`${error.code} ${error.claim}`);
    }
    if (error instanceof errors.JOSEError) return invalid(error.code);
    // A malformed or short key of the set is ignored (RFC 7517 section 5) and logged.
    logError('a key of the key set cannot be used', error);
    return invalid('the key cannot be used');
  }
}

function invalid(fault: string): Bearer {
  return { outcome: 'invalid', fault };
}

/**
 * Several keys fit a token without a `kid`, or with one that the set has twice. The first key that
 * verifies the signature decides about the claims.
 */
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
      } catch (fault) {
        // Another key may have signed it. A key that cannot be used is no `JOSEError`.
        const isOfKey =
          fault instanceof errors.JWSSignatureVerificationFailed ||
          !(fault instanceof errors.JOSEError);
        if (!isOfKey) throw fault;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Returns why the claim `permissions` lacks the permission. */
function findPermissionFault(claim: unknown, { area, level }: Permission): string | undefined {
  if (claim === undefined) return 'no claim permissions';
  const granted = levelsOf(claim, area);
  if (granted === undefined) return 'the claim permissions is no list, text or object';
  if (granted.length === 0) return `no permission of ${area}`;
  const sufficient = LEVELS.slice(LEVELS.indexOf(level));
  const isSufficient = sufficient.some((each) => granted.includes(each));
  return isSufficient ? undefined : `the level of ${area} is below ${level}`;
}

/** e.g. `["tool-web:viewer"]`, `"tool-chat:admin tool-web:viewer"`, `{"tool-web": "viewer"}` */
function levelsOf(claim: unknown, area: string): string[] | undefined {
  const listed = typeof claim === 'string' ? claim.split(/\s+/) : claim;
  if (Array.isArray(listed)) return LEVELS.filter((each) => listed.includes(`${area}:${each}`));
  if (typeof listed !== 'object' || listed === null) return undefined;
  return LEVELS.filter((each) => Reflect.get(listed, area) === each);
}
