/**
 * The named keys, which `npm run api-key` makes and the var `API_KEYS` lists. The var has only the
 * SHA-256 of a key. A key has 256 random bits, so its hash does not reveal it.
 */

import * as z from 'zod';
import { parseJson } from '../http/json-text.ts';

/** The rights that a key can have. Each route declares the scope that it needs, with `requireScope`. */
export const SCOPES = ['feed:read', 'events:write', 'events:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** The key of a request. `reason` is for the log and explains why a key is not valid. */
export type PresentedKey =
  | { outcome: 'valid'; caller: string; scopes: readonly Scope[]; rateLimit: number | undefined }
  | { outcome: 'expired'; caller: string; reason: 'expired' }
  | { outcome: 'unknown'; reason: 'unknown' | 'empty' | 'a development key' | 'a short key' };

/** The `caller` of a key of `API_KEY`, and the `caller` of a token. No named key may have these names. */
export const FULL_ACCESS_CALLER = 'api-key';
export const TOKEN_CALLER = 'bearer';
const RESERVED_NAMES: readonly string[] = [FULL_ACCESS_CALLER, TOKEN_CALLER];

const MAX_NAME_CHARACTERS = 40;
const MAX_RATE_LIMIT = 60_000;

/**
 * Makes the schemas of a key's fields. `expires` is the last day on which the key is valid, in UTC.
 * `rate_limit` replaces the limits that apply to addresses.
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

/** Makes the schema of `API_KEYS`, a list or its JSON text. Two keys must not have one name or one hash. */
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
