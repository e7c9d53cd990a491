/** Parses what callers send, and names its problems. */

import type * as z from 'zod';
import type { Problem } from './errors.ts';
import { pathOf } from './problem-path.ts';
import './wording.ts';

/** A value that fits its schema, or every problem of one that does not. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: [Problem, ...Problem[]] };

/** Returns the parsed value, or every problem found. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const problems = parsed.error.issues.flatMap(problemsOf);
  if (isNonEmpty(problems)) return { ok: false, problems };
  throw new Error('zod refused a value without an issue', { cause: parsed.error });
}

/** Reports whether a list has an entry. */
export function isNonEmpty<T>(list: T[]): list is [T, ...T[]] {
  return list.length > 0;
}

/** Returns one problem for each field that a zod issue names. */
function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map(String);
  if (issue.code !== 'unrecognized_keys') {
    return [{ path: pathOf(path), message: issue.message }];
  }
  return issue.keys.map((key) => ({
    path: pathOf([...path, key]),
    message: 'is not a field of this resource',
  }));
}
