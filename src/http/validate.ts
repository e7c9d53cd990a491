/** Parses values of callers with zod, and turns zod's issues into this API's problems. */

import type * as z from 'zod';
import { formatField, formatPath, type Problem } from './errors.ts';

/** A value that fits its schema, or every problem of one that does not. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: [Problem, ...Problem[]] };

export function parseWith<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const parsed = schema.safeParse(value, IN_WORDS);
  if (parsed.success) return { ok: true, value: parsed.data };
  const problems = parsed.error.issues.flatMap(toProblems);
  if (isNonEmpty(problems)) return { ok: false, problems };
  throw new Error('zod rejected a value without an issue', { cause: parsed.error });
}

/** For zod's `safeParse`: the messages of this API. */
export const IN_WORDS = { error: wording };

export function isNonEmpty<T>(list: T[]): list is [T, ...T[]] {
  return list.length > 0;
}

/** Returns one problem per field. An issue's `keys` are the caller's names of unknown fields. */
function toProblems(issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map(String);
  const name = formatField(issue.path);
  const field = name === undefined ? {} : { field: name };
  if (issue.code !== 'unrecognized_keys') {
    return [{ path: formatPath(path), message: issue.message, ...field }];
  }
  return issue.keys.map((key) => ({
    path: formatPath([...path, key]),
    message: 'is not a field of this resource',
    ...field,
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
  if (origin === 'string') return `${bound} ${counted(size, 'character', 'characters')} long`;
  if (origin === 'array') return `a list of ${bound} ${counted(size, 'entry', 'entries')}`;
  return `${bound} ${size}`;
}

function counted(size: number | bigint, one: string, many: string): string {
  return `${size} ${size === 1 ? one : many}`;
}
