/** Validates what callers send, and tells its problems. */

import { zValidator } from '@hono/zod-validator';
import type * as z from 'zod';
import { isIntact } from './cursor.ts';
import { type Problem, validationError } from './errors.ts';
import { pathOf } from './problem-path.ts';
import './wording.ts';

/**
 * Paging words of other APIs. A client that pages with them would read page one for ever, so a list
 * refuses them; every other unknown parameter is ignored (sites append `utm_*`).
 */
const FOREIGN_PAGING_WORDS = ['starting_after', 'ending_before', 'page', 'offset', 'page_token'];

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

/**
 * Validates the query of a list: known parameters by the schema, each at most once.
 * Throws a `validation_error` with every bad parameter in `details`, an unreadable cursor among them;
 * a cursor that is alone at fault is left to whoever decodes it.
 */
export function listQuery<S extends z.ZodObject>(schema: S) {
  return zValidator('query', schema, async (result, c) => {
    const foreign = FOREIGN_PAGING_WORDS.filter((word) => c.req.query(word) !== undefined);
    const problems = [
      ...foreign.map((path) => ({
        path,
        message: 'is not a parameter of this list: page with cursor',
      })),
      ...(result.success
        ? []
        : parameterProblems(result.error.issues, (name) => (c.req.queries(name)?.length ?? 0) > 1)),
    ];
    if (!isNonEmpty(problems)) return;
    const cursor = c.req.query('cursor');
    const isNamed = problems.some(({ path }) => path === 'cursor');
    if (cursor !== undefined && !isNamed && !(await isIntact(cursor))) {
      problems.push({ path: 'cursor', message: 'is not one that this list gave' });
    }
    throw validationError(problems);
  });
}

/** Returns one problem per parameter, under its name: inside a value, a query has no path. */
function parameterProblems(
  issues: readonly z.core.$ZodIssue[],
  isRepeated: (name: string) => boolean,
): Problem[] {
  const first = new Map<string, Problem>();
  for (const { path, message } of issues) {
    const name = String(path[0]);
    if (first.has(name)) continue;
    first.set(name, { path: name, message: isRepeated(name) ? 'must be given once' : message });
  }
  return [...first.values()];
}

function isNonEmpty<T>(list: T[]): list is [T, ...T[]] {
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
