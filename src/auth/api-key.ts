/**
 * The `x-api-key` credential: the schema of configured keys, and the verdict about the key that a request sends.
 *
 * A configuration holds the SHA-256 of a named key and never the key. A key has 256 random bits, so its hash does not
 * give it away. `config.ts` parses the configured keys, and `npm run api-key` makes new ones.
 */

import * as z from 'zod';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';

/** The scopes of keys. Each route declares the one that it needs: see require.ts. */
const SCOPES = ['feed:read', 'events:write', 'events:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** The `caller` of a request with a key that opens everything, and with a token. No named key may have these names. */
export const FULL_ACCESS_CALLER = 'api-key';
export const TOKEN_CALLER = 'bearer';
const RESERVED_NAMES: readonly string[] = [FULL_ACCESS_CALLER, TOKEN_CALLER];

const MAX_NAME_CHARACTERS = 40;

/** The key in .dev.vars.example begins with this prefix. Such keys are valid in development only. */
const DEVELOPMENT_PREFIX = 'dev_';

/** The name of a key's holder, which the log and the stored events show. */
export const keyName = z
  .string()
  .max(MAX_NAME_CHARACTERS, `must have at most ${MAX_NAME_CHARACTERS} characters`)
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'must be lower-case letters and digits in words joined by hyphens, such as marketing-site',
  )
  .refine((name) => !RESERVED_NAMES.includes(name), `must not be ${RESERVED_NAMES.join(' or ')}`);

export const scope = z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` });

/** The last day of a key, in UTC. */
export const expiryDate = z.iso.date({ error: 'must be a date such as 2027-06-30' });

/** An entry of the var `API_KEYS`. */
const namedKey = z.strictObject({
  name: keyName,
  scopes: z.array(scope).min(1, 'must have at least one scope'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
  expires: expiryDate.optional(),
});

/** The var `API_KEYS`: a list, or its JSON text; none when absent or empty. No two keys share a name or a hash. */
export const namedKeys = z.preprocess(
  (value) => parsedJson(value ?? ''),
  z.array(namedKey, { error: 'must be a list of keys' }).superRefine((keys, context) => {
    for (const field of ['name', 'sha256'] as const) {
      const values = keys.map((key) => key[field]);
      for (const [index, value] of values.entries()) {
        const first = values.indexOf(value);
        if (first === index) continue;
        const message = `repeats ${first}.${field}`;
        context.addIssue({ code: 'custom', path: [index, field], message });
      }
    }
  }),
);

/**
 * Returns the end of a day in UTC, in milliseconds since the epoch. A key that expires on the day is invalid from then
 * on.
 */
export function endOfDay(date: string): number {
  const end = new Date(`${date}T00:00:00Z`);
  end.setUTCDate(end.getUTCDate() + 1);
  return end.getTime();
}

/** Parses a list that `.dev.vars` contains as JSON text. Other text is returned as it is: the schema rejects it. */
function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return [];
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The part of the configuration that lists the keys. */
type KeyConfig = Pick<Config, 'apiKeys' | 'namedKeys' | 'isDevelopment'>;

/** The verdict about the key that a request sends. `fault` is for the log: the reason why the key is not valid. */
export type SentKey =
  | { outcome: 'valid'; caller: string; scopes: readonly Scope[] }
  | { outcome: 'expired'; caller: string; fault: 'expired' }
  | { outcome: 'unknown'; fault: 'unknown' | 'empty' | 'a development key' };

type KnownKey = {
  /** SHA-256 of the key. */
  digest: Uint8Array;
  caller: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch; infinite for a key that does not expire. */
  validBefore: number;
};

/** Configuration → its keys. Plain data: requests must not share a promise. */
const knownKeys = new WeakMap<KeyConfig, readonly KnownKey[]>();

const encoder = new TextEncoder();

/**
 * Judges the key `sent` at the time `now`. Its SHA-256 is compared with the SHA-256 of every configured key, so that
 * the time of the comparison tells nothing about any key.
 */
export async function identifyKey(sent: string, config: KeyConfig, now: number): Promise<SentKey> {
  const known = knownKeys.get(config) ?? (await learnKeys(config));
  const digest = await digestOf(sent);
  let found: KnownKey | undefined;
  for (const key of known) {
    if (crypto.subtle.timingSafeEqual(digest, key.digest)) found = key;
  }
  if (sent === '') return { outcome: 'unknown', fault: 'empty' };
  if (isDevelopmentKey(sent) && !config.isDevelopment) {
    return { outcome: 'unknown', fault: 'a development key' };
  }
  if (found === undefined) return { outcome: 'unknown', fault: 'unknown' };
  const { caller, scopes, validBefore } = found;
  if (now >= validBefore) return { outcome: 'expired', caller, fault: 'expired' };
  return { outcome: 'valid', caller, scopes };
}

/** Digests every configured key. Keys that open everything stand last, because `identifyKey` takes the last match. */
async function learnKeys(config: KeyConfig): Promise<readonly KnownKey[]> {
  const { apiKeys, namedKeys, isDevelopment } = config;
  const named = namedKeys.map(({ name, scopes, sha256, expires }) => ({
    digest: Uint8Array.fromHex(sha256),
    caller: name,
    scopes,
    validBefore: expires === undefined ? Number.POSITIVE_INFINITY : endOfDay(expires),
  }));
  const openingAll = apiKeys.map(async (key) => ({
    digest: await digestOf(key),
    caller: FULL_ACCESS_CALLER,
    scopes: SCOPES,
    validBefore: Number.POSITIVE_INFINITY,
  }));
  const known = [...named, ...(await Promise.all(openingAll))];
  // Another request of this isolate may have logged this meanwhile.
  if (!knownKeys.has(config) && !isDevelopment && apiKeys.some(isDevelopmentKey)) {
    logFault(
      'a development key is ignored',
      new Error(
        `API_KEY holds a key that begins with ${DEVELOPMENT_PREFIX}: it opens nothing here`,
      ),
    );
  }
  knownKeys.set(config, known);
  return known;
}

function isDevelopmentKey(key: string): boolean {
  return key.startsWith(DEVELOPMENT_PREFIX);
}

async function digestOf(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(key)));
}
