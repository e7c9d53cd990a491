/**
 * The form of named keys: who holds one, what it opens, until when. Pure. `config.ts` reads the
 * configured ones by it, and `npm run api-key` makes new ones.
 *
 * A configuration holds the SHA-256 of a key and never the key. A key has 256 random bits, so nobody
 * finds it from its hash.
 */

import * as z from 'zod';

/** The things that a key may open. Each route declares one of these: see require.ts. */
export const SCOPES = ['feed:read', 'events:write', 'events:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** The names of the other callers in the log: no key may have one of these names. */
export const FULL_ACCESS_CALLER = 'api-key';
export const TOKEN_CALLER = 'bearer';
const RESERVED_NAMES: readonly string[] = [FULL_ACCESS_CALLER, TOKEN_CALLER];

const MAX_NAME_CHARACTERS = 40;

/** Keys with this prefix stand in the repository, or in a developer's files: they open nothing elsewhere. */
export const DEVELOPMENT_PREFIX = 'dev_';

/** The name of a key's holder, as the log and the events have it. */
export const keyName = z
  .string()
  .max(MAX_NAME_CHARACTERS, `must have at most ${MAX_NAME_CHARACTERS} characters`)
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'must be lower-case letters and digits in words joined by hyphens, such as marketing-site',
  )
  .refine((name) => !RESERVED_NAMES.includes(name), `must not be ${RESERVED_NAMES.join(' or ')}`);

export const scope = z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` });

/** A day. The key is valid to its end in UTC. */
export const expiryDate = z.iso.date({ error: 'must be a date such as 2027-06-30' });

const holder = {
  name: keyName,
  scopes: z.array(scope).min(1, 'must have at least one scope'),
};

const namedKey = z.strictObject({
  ...holder,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
  expires: expiryDate.optional(),
});

/** A key of a developer: it stands in .dev.vars as it is, so that the documentation page can offer it. */
const developmentKey = z.strictObject({
  ...holder,
  key: z.string().startsWith(DEVELOPMENT_PREFIX, `must begin with ${DEVELOPMENT_PREFIX}`),
});

export type NamedKey = z.infer<typeof namedKey>;
export type DevelopmentKey = z.infer<typeof developmentKey>;

/** The vars `API_KEYS` and `DEV_API_KEYS`: lists, or their JSON text; none when absent or empty. */
export const namedKeys = listOf(namedKey, ['name', 'sha256']);
export const developmentKeys = listOf(developmentKey, ['name', 'key']);

/** Returns the first millisecond at which a key that expires on the day is no longer valid. */
export function endOfDay(date: string): number {
  const end = new Date(`${date}T00:00:00Z`);
  end.setUTCDate(end.getUTCDate() + 1);
  return end.getTime();
}

/** The schema of a list of entries, no two of which have the same value in a `unique` field. */
function listOf<Entry>(entry: z.ZodType<Entry>, unique: readonly (keyof Entry & string)[]) {
  const entries = z
    .array(entry, { error: 'must be a list of keys' })
    .superRefine((list, context) => {
      for (const field of unique) {
        const values = list.map((each) => each[field]);
        for (const [index, value] of values.entries()) {
          const first = values.indexOf(value);
          if (first === index) continue;
          context.addIssue({
            code: 'custom',
            path: [index, field],
            message: `repeats ${first}.${field}`,
          });
        }
      }
    });
  return z.preprocess((value) => parsed(value ?? ''), entries);
}

/** Reads a list that a file of vars holds as text. Text that is no JSON is left to the schema. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return [];
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
