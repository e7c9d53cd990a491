/** Converts zod's issues into the API's problems. */

import type * as z from 'zod';
import { formatField, formatPath, type Problem } from './errors.ts';
import { addHint, findValueHint } from './hints.ts';

/** The parsed value, or every problem of an invalid value. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: Problem[] };

/** Builds the message for a name that the schema does not have. */
type ExplainName = (name: string) => string;

export const UNKNOWN_FIELD = 'is not a field of this resource';

/** Parses a value. `explainName` may add a hint to `UNKNOWN_FIELD`. */
export function parseWith<S extends z.ZodType>(
  schema: S,
  value: unknown,
  explainName: ExplainName = () => UNKNOWN_FIELD,
): Parsed<z.output<S>> {
  const { data, error } = schema.safeParse(value, ZOD_OPTIONS);
  return error === undefined
    ? { ok: true, value: data }
    : { ok: false, problems: toProblems(error, explainName) };
}

/** Returns a problem for each invalid value and each unknown name. */
export function toProblems(error: z.ZodError, explainName: ExplainName): Problem[] {
  return readIssues(error).map(({ issue, path, message, unknownName }) => {
    const field = formatField(issue.path);
    const code = issue.code === 'custom' ? issue.params?.code : undefined;
    return {
      path,
      message:
        unknownName === undefined
          ? addHint(message, findValueHint(issue))
          : explainName(unknownName),
      ...(field !== undefined && { field }),
      ...(code === 'invalid_cursor' && { code }),
    };
  });
}

/** An issue that zod found. `unknownName` is set if the schema does not have that name. */
export type ReadIssue = {
  path: string;
  message: string;
  unknownName?: string;
  issue: z.core.$ZodIssue;
};

/** Reads zod's issues. Splits an issue about two or more unknown names into one issue per name. */
export function readIssues({ issues }: z.ZodError): ReadIssue[] {
  return issues.flatMap((issue): ReadIssue[] => {
    const path = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') {
      return [{ path: formatPath(path), message: issue.message, issue }];
    }
    return issue.keys.map((unknownName) => ({
      path: formatPath([...path, unknownName]),
      message: UNKNOWN_FIELD,
      unknownName,
      issue,
    }));
  });
}

/** Options for zod's `safeParse`: this API's messages, and the invalid value in each issue. */
export const ZOD_OPTIONS = { error: messageFor, reportInput: true };

/** Returns the message of an issue. Returns undefined to keep zod's message. */
export function messageFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`;
    case 'invalid_value': {
      const values = issue.values.map(String).join(', ');
      return issue.input === undefined
        ? `is required. It must be one of ${values}`
        : `must be one of ${values}`;
    }
    case 'too_small':
      return `must be ${formatSize(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must be ${formatSize(issue.origin, 'at most', issue.maximum)}`;
    default:
      return undefined;
  }
}

/** @example formatSize('string', 'at least', 1) // 'at least 1 character long' */
function formatSize(origin: string, bound: string, size: number | bigint): string {
  const isOne = size === 1 || size === 1n;
  if (origin === 'string') return `${bound} ${size} ${isOne ? 'character' : 'characters'} long`;
  if (origin === 'array') return `a list of ${bound} ${size} ${isOne ? 'entry' : 'entries'}`;
  return `${bound} ${size}`;
}
