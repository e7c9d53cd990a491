/**
 * What every schema uses: metadata, the schemas that capabilities share, and the parsing that turns
 * zod's issues into this API's problems.
 */

import * as z from 'zod';
import { formatField, formatPath, type Problem } from './http/errors.ts';

/**
 * Attaches OpenAPI metadata to a schema, and returns the schema. Throws for a schema that has
 * metadata already: if several fields share a schema, use zod's `meta`, which makes a copy.
 *
 * @example withMetadata(text.nullable(), 'Town.', 'Bosa')
 */
export function withMetadata<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  ...examples: unknown[]
): Schema {
  if (z.globalRegistry.has(schema)) throw new Error(`"${description}": use meta, which copies.`);
  z.globalRegistry.add(schema, { description, ...(examples.length > 0 && { examples }) });
  return schema;
}

/** Makes the schema of a whole number in digits: vars and query parameters are text. */
export function wholeNumber(minimum: number, maximum: number) {
  const metadata = { type: 'integer', format: 'int32', minimum, maximum };
  // A number of 309 digits is infinite.
  return numberOf(/^-?\d{1,300}$/, 'must be a whole number', metadata);
}

/** Makes the schema of a number in digits with a decimal point, e.g. 2.5. */
export function decimal(minimum: number, maximum: number) {
  const metadata = { type: 'number', minimum, maximum };
  return numberOf(/^-?\d{1,15}(\.\d{1,9})?$/, 'must be a number such as 2.5', metadata);
}

function numberOf(form: RegExp, message: string, metadata: { minimum: number; maximum: number }) {
  return z.coerce
    .string<string | number>()
    .regex(form, message)
    .transform(Number)
    .pipe(z.number().min(metadata.minimum).max(metadata.maximum))
    .register(z.globalRegistry, {
      override: ({ jsonSchema }) =>
        void Object.assign(jsonSchema, { ...metadata, pattern: undefined }),
    });
}

/** A UUID in either case. Without flags, because the OpenAPI document has it. */
const UUID_FORM = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
export const UUID_PATTERN = UUID_FORM.source;
const LOWER_CASE_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return UUID_FORM.test(text);
}

const METADATA = {
  format: 'uuid',
  minLength: 36,
  maxLength: 36,
  examples: ['5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'],
};

/** A UUID as a caller may write it. Its output is in lower case. */
export const uuid = z
  .string()
  .regex(UUID_FORM, 'must be a UUID')
  .toLowerCase()
  .register(z.globalRegistry, METADATA);

/** A UUID as the service writes it. */
export const lowerCaseUuid = z.string().regex(LOWER_CASE_FORM).register(z.globalRegistry, METADATA);

/** A value that fits its schema, or every problem of one that does not. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

export function parseWith<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const parsed = schema.safeParse(value, IN_WORDS);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: parsed.error.issues.flatMap(toProblems) };
}

/** For zod's `safeParse`: the messages of this API, and the bad values. */
export const IN_WORDS = { error: wording, reportInput: true };

/** Returns one problem per field. An issue's `keys` are the caller's names of unknown fields. */
function toProblems(issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map(String);
  const name = formatField(issue.path);
  const rest = { ...(name !== undefined && { field: name }), issue };
  if (issue.code !== 'unrecognized_keys') {
    return [{ path: formatPath(path), message: issue.message, ...rest }];
  }
  return issue.keys.map((key) => ({
    path: formatPath([...path, key]),
    message: 'is not a field of this resource',
    ...rest,
  }));
}

/** Replaces zod's messages about TypeScript's types; `undefined` keeps zod's message. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`;
    case 'invalid_value': {
      const values = issue.values.map(String).join(', ');
      return issue.input === undefined
        ? `is required: one of ${values}`
        : `must be one of ${values}`;
    }
    case 'too_small':
      return `must be ${measure(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must be ${measure(issue.origin, 'at most', issue.maximum)}`;
    default:
      return undefined;
  }
}

function measure(origin: string, bound: string, size: number | bigint): string {
  if (origin === 'string') return `${bound} ${countOf(size, 'character', 'characters')} long`;
  if (origin === 'array') return `a list of ${bound} ${countOf(size, 'entry', 'entries')}`;
  return `${bound} ${size}`;
}

function countOf(size: number | bigint, one: string, many: string): string {
  return `${size} ${size === 1 ? one : many}`;
}
