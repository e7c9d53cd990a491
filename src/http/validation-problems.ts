/** What is wrong with a value: zod's issues, in the words of this API. */

import type * as z from 'zod';
import { formatField, formatPath, type Problem } from './errors.ts';
import { addHint, adviseOn } from './hints.ts';

/** A value that fits its schema, or every problem of one that does not. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

export function parseWith<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const parsed = schema.safeParse(value, IN_WORDS);
  if (parsed.success) return { ok: true, value: parsed.data };
  const problems = readIssues(parsed.error).map(({ issue, ...found }) => {
    const field = formatField(issue.path);
    const message = addHint(found.message, adviseOn({ ...issue, ...found }));
    return { path: found.path, message, ...(field !== undefined && { field }) };
  });
  return { ok: false, problems };
}

/** For zod's `safeParse`: the messages of this API, and the bad values. */
export const IN_WORDS = { error: wording, reportInput: true };

/** `unknown` is a name that the schema does not have. */
type Found = { path: string; message: string; unknown?: string; issue: z.core.$ZodIssue };

/** Returns each bad value, and each unknown name, which is the caller's. */
export function readIssues({ issues }: z.ZodError): Found[] {
  return issues.flatMap((issue): Found[] => {
    const path = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') {
      return [{ path: formatPath(path), message: issue.message, issue }];
    }
    const message = 'is not a field of this resource';
    return issue.keys.map((unknown) => {
      return { path: formatPath([...path, unknown]), message, unknown, issue };
    });
  });
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
