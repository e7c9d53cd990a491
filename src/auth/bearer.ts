/**
 * The `Authorization: Bearer` credential: a JWT of the identity provider (RFC 6750, RFC 7519), the provider's keys that
 * verify it, and the permissions that it carries.
 *
 * The provider's key set (RFC 7517) is a var, or is fetched from the provider's address. jose's remote set fetches the
 * keys and keeps them for its isolate. The code here adds two things. The keys are cached at the edge too (per data
 * centre, and only on a custom domain), because isolates are short-lived. And known keys are used for a day while the
 * provider cannot be reached.
 *
 * Requests must not wait for each other's promises on Workers: when a request is cancelled, a request that waits for
 * its fetch hangs. So jose makes a fetch of its own there for each request that finds no fresh keys
 * (`isCloudflareWorkers` in its jwks/remote.js). Many requests at once to an empty isolate make many fetches, bounded
 * by the rate limit of their clients.
 */

import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWKSCacheInput,
  type JWSHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
  jwksCache,
  jwtVerify,
  UnsecuredJWT,
} from 'jose';
import * as z from 'zod';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import { edgeAddressOf } from '../storage/edge-address.ts';

const FETCH_DEADLINE_MS = 5_000;
const EDGE_DEADLINE_MS = 1_000;
/** Keys are fetched again after this time: a key that the provider has withdrawn is refused from then on. */
const FRESH_MS = 600_000;
/** While the provider cannot be reached, known keys are used for so long. */
const USABLE_SECONDS = 86_400;
/** The pause between two fetches for an unknown `kid`, or for keys that could not be renewed. */
const COOL_DOWN_MS = 30_000;
const EDGE_KIND = 'key-sets';

/** The provider cannot be reached or does not answer with a key set, and no key is known. */
class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** The request that carries a token: its URL, and a function that lets work go on after the response. */
type TokenRequest = { url: string; inBackground(work: Promise<unknown>): void };

/** Finds the key that a token names; throws jose's `JWKSNoMatchingKey` when the set lacks it. */
type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const inlineSets = new WeakMap<object, FindKey>();

/**
 * Returns the configured key set for a request: the set in the vars, else the set at the address, else `undefined`. The
 * `FindKey` of an address may throw `KeySetUnavailable`.
 */
function keySetOf({ jwks, jwksUrl }: Config['jwt'], request: TokenRequest): FindKey | undefined {
  if (jwks !== null) {
    const findKey = inlineSets.get(jwks) ?? createLocalJWKSet(jwks);
    inlineSets.set(jwks, findKey);
    return findKey;
  }
  if (jwksUrl === '') return undefined;
  return (header, token) => findRemotely(jwksUrl, request, header, token);
}

/** A provider's key set in this isolate. jose writes the keys that it fetches into `keys`, with the time of the fetch. */
type KnownSet = {
  keys: JWKSCacheInput;
  remote: ReturnType<typeof createRemoteJWKSet>;
  pausedUntil: number;
};

/** Address → key set. */
const knownSets = new Map<string, KnownSet>();

async function findRemotely(
  url: string,
  request: TokenRequest,
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
): Promise<CryptoKey> {
  const known = await freshest(url, request);
  const fetchedAt = known.keys.uat;
  try {
    if (Date.now() >= known.pausedUntil) {
      return await withDeadline(known.remote(header, token), FETCH_DEADLINE_MS, 'key set');
    }
  } catch (error) {
    if (isAboutToken(error)) throw error;
    logFault('the key set could not be renewed', error);
    known.pausedUntil = Date.now() + COOL_DOWN_MS;
    if (!isUsable(known.keys)) {
      knownSets.delete(url);
      throw new KeySetUnavailable('no key set is known', { cause: error });
    }
  } finally {
    if (known.keys.uat !== fetchedAt) request.inBackground(cacheAtEdge(url, request, known.keys));
  }
  return createLocalJWKSet(known.keys.jwks ?? { keys: [] })(header, token);
}

/** Reports whether the token is at fault, and not the provider. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

function isUsable({ uat }: JWKSCacheInput): boolean {
  return uat !== undefined && Date.now() - uat < USABLE_SECONDS * 1_000;
}

/** Returns the isolate's key set while it is fresh or fetches pause; else the newer of this set and the cached one. */
async function freshest(url: string, request: TokenRequest): Promise<KnownSet> {
  const known = knownSets.get(url);
  if (known && (known.remote.fresh || Date.now() < known.pausedUntil)) return known;
  const cached = await readAtEdge(url, request);
  // Another request may have fetched newer keys meanwhile.
  const present = knownSets.get(url);
  if (present && (present.keys.uat ?? 0) >= (cached.uat ?? 0)) return present;
  const remote = createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_DEADLINE_MS,
    cooldownDuration: COOL_DOWN_MS,
    cacheMaxAge: FRESH_MS,
    [jwksCache]: cached,
    [customFetch]: fetchUsableKeys,
  });
  const made = { keys: cached, remote, pausedUntil: 0 };
  knownSets.set(url, made);
  return made;
}

/** A published key set, without keys of unknown kinds and without private keys (RFC 7517 section 5). */
const publishedSet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
  .transform(({ keys }) => ({
    keys: keys.filter((key) => ['RSA', 'EC', 'OKP'].includes(key.kty) && !('d' in key)),
  }))
  .refine(({ keys }) => keys.length > 0, { error: 'a key set without a usable key' });

async function fetchUsableKeys(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  return response.status === 200
    ? Response.json(publishedSet.parse(await response.json()))
    : response;
}

/** Cached keys, and the time at which they were fetched (`uat`) in milliseconds since the epoch. */
const edgeEntry = z.object({ uat: z.number(), jwks: publishedSet });

/** Returns the keys in the edge cache of this data centre, or none. Never rejects. */
async function readAtEdge(url: string, request: TokenRequest): Promise<JWKSCacheInput> {
  try {
    const match = caches.default.match(edgeAddressOf(request.url, EDGE_KIND, url));
    const response = await withDeadline(match, EDGE_DEADLINE_MS, 'edge cache');
    return response === undefined ? {} : edgeEntry.parse(await response.json());
  } catch (error) {
    logFault('the cached key set could not be read', error);
    return {};
  }
}

/** Caches keys at the edge. Never rejects. */
async function cacheAtEdge(
  url: string,
  request: TokenRequest,
  keys: JWKSCacheInput,
): Promise<void> {
  try {
    const headers = { 'Cache-Control': `max-age=${USABLE_SECONDS}` };
    const address = edgeAddressOf(request.url, EDGE_KIND, url);
    await caches.default.put(address, Response.json(keys, { headers }));
  } catch (error) {
    logFault('the key set could not be cached', error);
  }
}

/** The provider's clock may differ from this one by so much. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** Asymmetric algorithms only: with a symmetric one, the published key could sign a token. */
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
 * The scheme's name is read in either case (RFC 9110 section 11.1). The unused bits of the signature's base64url are
 * zero (RFC 4648 section 3.5): a signature has one spelling, so that no altered token is valid.
 */
const BEARER_JWT =
  /^[Bb][Ee][Aa][Rr][Ee][Rr] +([\w-]+\.[\w-]+\.(?:[\w-]{4})+(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?)$/;

/** The header of an unsecured JWT (RFC 7519 section 6): `{"alg":"none"}`. */
const UNSECURED_HEADER = 'eyJhbGciOiJub25lIn0';

/** The judgement of a token. */
type Bearer =
  /** `permissions` is the claim of the token, not validated. */
  | { outcome: 'valid'; permissions: unknown }
  /** `fault` is for the log: jose's code, and the claim at fault if there is one. */
  | { outcome: 'invalid'; fault: string };

/**
 * Judges the `Authorization` header of a request. No token is valid unless issuer, audience and key set are configured.
 * Throws `KeySetUnavailable` when a token with valid claims needs keys that cannot be fetched.
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
    // Claims are checked first: a token with a bad claim is refused without a signature check and without keys.
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
    // A malformed or short key of the set is ignored (RFC 7517 section 5) and logged.
    logFault('a key of the key set cannot be used', error);
    return invalid('the key cannot be used');
  }
}

function invalid(fault: string): Bearer {
  return { outcome: 'invalid', fault };
}

/** Verifies a token. A token without a `kid` is tried with each key that fits its algorithm. */
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
        // This key did not sign the token, or cannot be used: try the next key.
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Ascending: each level includes the levels before it. */
const LEVELS = ['viewer', 'editor', 'admin'] as const;

/** A claim that is not a list grants nothing. */
const permissionsClaim = z.array(z.unknown()).catch([]);

/** Reports whether the claim `permissions`, `area:level` strings, holds `area` at `level` or higher. */
export function allows(
  permissions: unknown,
  area: string,
  level: (typeof LEVELS)[number],
): boolean {
  const sufficient = LEVELS.slice(LEVELS.indexOf(level)).map((enough) => `${area}:${enough}`);
  return permissionsClaim
    .parse(permissions)
    .some((held) => sufficient.some((enough) => held === enough));
}
