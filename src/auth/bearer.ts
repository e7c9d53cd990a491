/**
 * Verifies bearer tokens (RFC 6750). A token must be a valid JWT (RFC 7519) from the identity provider,
 * and its claim `permissions` must contain the required permission:
 *
 *     permissions                          tool-web:viewer is required
 *     ["tool-web:viewer"]                  valid
 *     "tool-chat:admin tool-web:editor"    valid: a level includes the levels below it
 *     {"tool-web":"viewer"}                valid
 *     ["tool-chat:admin"], missing         denied
 */

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Config } from '../config.ts';
import { logError } from '../http/log.ts';
import { type FindKey, findKeySet, KeySetUnavailable } from './key-set.ts';

const CLOCK_TOLERANCE_SECONDS = 30;

/** Asymmetric algorithms only. With a symmetric algorithm, anyone could sign tokens with the published key. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/**
 * Matches an `Authorization` header with a JWT. The scheme is case-insensitive (RFC 9110 section 11.1).
 * The unused bits at the end of the signature must be zero, so that a signature can be encoded in only
 * one way (RFC 4648 section 3.5).
 */
const BEARER_JWT =
  /^[Bb][Ee][Aa][Rr][Ee][Rr] +([\w-]+\.[\w-]+\.(?:[\w-]{4})+(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?)$/;

/** Levels of a permission, lowest first. Each level includes the lower levels. */
const LEVELS = ['viewer', 'editor', 'admin'] as const;

/** The claim that contains a token's permissions. */
export const PERMISSIONS_CLAIM = 'permissions';

type Permission = { area: string; level: (typeof LEVELS)[number] };

/** The result of a verification. `reason` is for the log, e.g. `ERR_JWT_EXPIRED exp`. */
export type TokenVerdict =
  | { outcome: 'valid' }
  | { outcome: 'denied' | 'expired' | 'invalid'; reason: string };

/**
 * Verifies the token in an `Authorization` header. Rejects every token unless the issuer, the audience
 * and the key set are configured. Throws `KeySetUnavailable` if the keys cannot be fetched.
 */
export async function verifyBearer(
  authorization: string,
  jwt: Config['jwt'],
  permission: Permission,
): Promise<TokenVerdict> {
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
    const claims = await verifyJwt(token, findKey, { ...options, algorithms: ALGORITHMS });
    const reason = explainDenial(claims[PERMISSIONS_CLAIM], permission);
    return reason === undefined ? { outcome: 'valid' } : { outcome: 'denied', reason };
  } catch (error) {
    if (error instanceof KeySetUnavailable) throw error;
    if (error instanceof errors.JWTExpired)
      return { outcome: 'expired', reason: `${error.code} exp` };
    if (error instanceof errors.JWTClaimValidationFailed) {
      return invalid(`${error.code} ${error.claim}`);
    }
    if (error instanceof errors.JOSEError) return invalid(error.code);
    // jose throws other errors for a malformed or short key of the set (RFC 7517 section 5).
    logError('a key of the key set cannot be used', error);
    return invalid('the key cannot be used');
  }
}

function invalid(reason: string): TokenVerdict {
  return { outcome: 'invalid', reason };
}

/**
 * Verifies the signature and the claims. Tries each matching key, because a token without a `kid` can
 * match more than one key, and so can a `kid` that occurs twice in the set. The first key that verifies
 * the signature ends the search, even if the claims are invalid.
 */
async function verifyJwt(
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
      } catch (errorOfKey) {
        // Another key may have signed the token. An unusable key causes an error of another class.
        const mayTryNext =
          errorOfKey instanceof errors.JWSSignatureVerificationFailed ||
          !(errorOfKey instanceof errors.JOSEError);
        if (!mayTryNext) throw errorOfKey;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Returns the reason for which a claim does not grant a permission; undefined if it does. */
function explainDenial(claim: unknown, { area, level }: Permission): string | undefined {
  if (claim === undefined) return `no claim ${PERMISSIONS_CLAIM}`;
  const grantedLevels = readLevels(claim, area);
  if (grantedLevels === undefined) {
    return `the claim ${PERMISSIONS_CLAIM} is not a list, text or object`;
  }
  if (grantedLevels.length === 0) return `no permission of ${area}`;
  const sufficientLevels = LEVELS.slice(LEVELS.indexOf(level));
  const isSufficient = sufficientLevels.some((name) => grantedLevels.includes(name));
  return isSufficient ? undefined : `the level of ${area} is below ${level}`;
}

/** Returns the levels that a claim grants in an area; undefined if the claim is not a list, text or object. */
function readLevels(claim: unknown, area: string): string[] | undefined {
  const entries = typeof claim === 'string' ? claim.split(/\s+/) : claim;
  if (Array.isArray(entries)) return LEVELS.filter((level) => entries.includes(`${area}:${level}`));
  if (typeof entries !== 'object' || entries === null) return undefined;
  return LEVELS.filter((level) => Reflect.get(entries, area) === level);
}
