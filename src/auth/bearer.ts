/**
 * The `Authorization: Bearer` credential: a JWT of the identity provider (RFC 6750, RFC 7519), the provider's
 * keys that verify it, and the permissions that it carries.
 *
 * The key set whose keys sign valid tokens (RFC 7517): inline, or at the identity provider's address.
 *
 * jose's remote set fetches the provider's keys and keeps them for its isolate. The code here adds two
 * things. The keys are cached at the edge too (per data centre, and only on a custom domain), because
 * isolates are short-lived. And known keys stay valid for a day while the provider cannot be reached.
 *
 * Requests must not wait for each other's promises on Workers: the follower of a request that is broken
 * off would hang. jose knows that and starts a fetch of its own for each request that finds no fresh keys
 * there (`isCloudflareWorkers` in its jwks/remote.js). So many requests at once to an empty isolate make
 * many fetches, bounded by the rate limit of their clients.
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
/** The provider is asked again after this time: a key that it has withdrawn is refused by then. */
const FRESH_MS = 600_000;
/** Keys outlive a provider that cannot be reached by this time. */
const USABLE_SECONDS = 86_400;
/** The pause between two fetches for an unknown `kid`, or for keys that could not be renewed. */
const COOL_DOWN_MS = 30_000;
const EDGE_KIND = 'key-sets';

/** The provider cannot be reached or does not answer with a key set, and no key is known. */
class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** The request that brings a token: its address, and how work goes on after its response. */
type TokenRequest = { url: string; inBackground(work: Promise<unknown>): void };

/** Finds the key that a token names; throws jose's `JWKSNoMatchingKey` when the set lacks it. */
type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const inlineSets = new WeakMap<object, FindKey>();

/**
 * Returns the configured key set for a request. An inline set wins over an address; the result is
 * `undefined` when neither is configured. With an address, `FindKey` throws `KeySetUnavailable`.
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

/** A provider's keys as an isolate knows them. jose puts the keys that it fetches into `keys`, with their time. */
type Known = {
  keys: JWKSCacheInput;
  remote: ReturnType<typeof createRemoteJWKSet>;
  pausedUntil: number;
};

/** Address of a key set → its keys. */
const knownSets = new Map<string, Known>();

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

/** Reports whether a fault is about the token's key, and not about the provider. */
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

/** Returns the keys of the isolate while they are fresh or the fetches pause, else the youngest that are cached. */
async function freshest(url: string, request: TokenRequest): Promise<Known> {
  const known = knownSets.get(url);
  if (known && (known.remote.fresh || Date.now() < known.pausedUntil)) return known;
  const cached = await readAtEdge(url, request);
  // Another request may have fetched them meanwhile.
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

/** Drops other kinds of key, and a private key that was published (RFC 7517 section 5). */
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

/** Keys and the time at which the provider gave them, in milliseconds since the epoch. */
const edgeEntry = z.object({ uat: z.number(), jwks: publishedSet });

/** Returns the keys that an isolate of this data centre has cached, or none. Never rejects. */
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

/** Caches keys in the data centre. Never rejects. */
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
type Level = (typeof LEVELS)[number];

/** Skips entries that are not strings, and a claim of another form. */
const permissionsClaim = z.array(z.unknown()).catch([]);

/** Reports whether the claim `permissions`, `area:level` strings, holds `area` at `level` or higher. */
export function allows(permissions: unknown, area: string, level: Level): boolean {
  const sufficient = LEVELS.slice(LEVELS.indexOf(level)).map((enough) => `${area}:${enough}`);
  return permissionsClaim
    .parse(permissions)
    .some((held) => sufficient.some((enough) => held === enough));
}
