/**
 * Named API keys, which `npm run api-key` creates and the var `API_KEYS` lists. The var contains only
 * the SHA-256 of each key. A key has 256 random bits, so its hash does not reveal it.
 */

import * as z from 'zod';
import { parseJson } from '../http/json-text.ts';

/** The scopes that a key can have. Each route declares the scope that it requires. */
export const SCOPES = ['feed:read', 'events:write', 'events:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** The API key that a request presents. `reason` is logged, and explains why the key is not valid. */
export type PresentedKey =
  | { outcome: 'valid'; caller: string; scopes: readonly Scope[]; rateLimit: number | undefined }
  | { outcome: 'expired'; caller: string; reason: 'expired' }
  | { outcome: 'unknown'; reason: 'unknown' | 'empty' | 'a development key' | 'a short key' };

/** Caller name of every key in `API_KEY`. */
export const FULL_ACCESS_CALLER = 'api-key';
/** Caller name of every bearer token. */
export const TOKEN_CALLER = 'bearer';
/** Names that a named key must not have, because the log uses them for other callers. */
const RESERVED_NAMES: readonly string[] = [FULL_ACCESS_CALLER, TOKEN_CALLER];

const MAX_NAME_CHARACTERS = 40;
const MAX_RATE_LIMIT = 60_000;

/**
 * Makes the schemas of a key's fields. `expires` is the last day on which the key is valid, in UTC.
 * `rate_limit` replaces the limits for client addresses.
 */
export function keyFields() {
  return {
    name: z
      .string()
      .max(MAX_NAME_CHARACTERS)
      .regex(
        /^[a-z0-9]+(-[a-z0-9]+)*$/,
        'must be lower-case letters and digits in words joined by hyphens, such as marketing-site',
      )
      .refine(
        (name) => !RESERVED_NAMES.includes(name),
        `must not be ${RESERVED_NAMES.join(' or ')}`,
      ),
    scopes: z.array(z.enum(SCOPES)).min(1),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
    expires: z.iso.date({ error: 'must be a date such as 2027-06-30' }).optional(),
    rate_limit: z.int().min(1).max(MAX_RATE_LIMIT).optional(),
  };
}

/**
 * Makes the schema of `API_KEYS`, a list or its JSON text. No two keys may have the same name or the
 * same hash.
 */
export function namedKeys() {
  const keys = z.array(z.strictObject(keyFields())).superRefine((keys, context) => {
    for (const field of ['name', 'sha256'] as const) {
      const values = keys.map((key) => key[field]);
      for (const [index, value] of values.entries()) {
        const first = values.indexOf(value);
        if (first === index) continue;
        const message = `repeats ${first}.${field}`;
        context.addIssue({ code: 'custom', path: [index, field], message });
      }
    }
  });
  return z.preprocess((value) => parseJson(value ?? ''), keys);
}

/** Returns the end of a day in UTC, in milliseconds since the epoch. */
export function endOfDay(date: string): number {
  const end = new Date(`${date}T00:00:00Z`);
  end.setUTCDate(end.getUTCDate() + 1);
  return end.getTime();
}
