/** Validates queries, and rejects unknown parameters. */

import { zValidator } from '@hono/zod-validator';
import type * as z from 'zod';
import { IN_WORDS, isNonEmpty } from '../schema.ts';
import { formatPath, type Problem, validationError } from './errors.ts';
import { isListParameter, maxCharacters, splitAtCommas } from './list-parameter.ts';
import { invalidCursor } from './paging.ts';
import { type Aliases, describeUnknown, findCursorParameter } from './unknown-parameter.ts';

/** The values of each parameter, in the order sent. */
type SentQuery = ReadonlyMap<string, readonly string[]>;

/**
 * Validates the query. `aliases` maps names from other parts of the API to parameters.
 *
 * Throws a `validation_error` with every bad parameter in `details`, unknown ones and a bad cursor
 * included. If nothing else is bad, a bad cursor is an `invalid_cursor`.
 */
export function validQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  aliases: Aliases = {},
) {
  return zValidator(
    'query',
    schema,
    (result, c) => {
      const sent = readQuery(c.req.queries(), schema);
      const issues = result.success ? [] : result.error.issues;
      const problems = queryProblems(schema, sent, issues, aliases);
      if (!isNonEmpty(problems)) return;
      const [{ path }, ...others] = problems;
      const isBadCursor =
        path === findCursorParameter(schema.shape) && sent.get(path)?.length === 1;
      if (isBadCursor && others.length === 0) throw invalidCursor(path);
      throw validationError(problems);
    },
    {
      validationFunction: (schema, values) =>
        schema.safeParse(boundValues(readQuery(values, schema), schema), IN_WORDS),
    },
  );
}

/** Takes `NAME[]` as `NAME` where a parameter may be repeated: axios writes `status[]=listed`. */
export function readQuery(
  values: Readonly<Record<string, string | string[]>>,
  { shape }: z.ZodObject,
): SentQuery {
  const sent = new Map<string, string[]>();
  for (const [written, value] of Object.entries(values)) {
    const plain = written.replace(/\[\]$/, '');
    const name = isListParameter(findSchema(shape, plain)) ? plain : written;
    sent.set(name, [...(sent.get(name) ?? []), ...[value].flat()]);
  }
  return sent;
}

/** What zod parses: an empty text in place of a value that is too long, which has its own problem. */
function boundValues(sent: SentQuery, { shape }: z.ZodObject) {
  const bounded = [...sent].map(([name, values]) => {
    if (isTooLong(values, findSchema(shape, name))) return [name, ''];
    return [name, values.length > 1 ? values : values[0]];
  });
  return Object.fromEntries(bounded);
}

/** Undefined also for a name such as `constructor`. */
function findSchema(shape: z.core.$ZodShape, name: string): z.core.$ZodType | undefined {
  return Object.hasOwn(shape, name) ? shape[name] : undefined;
}

function isTooLong(values: readonly string[], schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && values.join().length > maxCharacters(schema);
}

/** Unknown parameters first, then values that are too long, then zod's `issues`. */
export function queryProblems(
  { shape }: z.ZodObject,
  sent: SentQuery,
  issues: readonly z.core.$ZodIssue[],
  aliases: Aliases = {},
): Problem[] {
  const unknown = [...sent.keys()].filter((name) => findSchema(shape, name) === undefined);
  const first = new Map<string, string>();
  for (const [name, values] of sent) {
    const schema = findSchema(shape, name);
    // A cursor that is too long is no cursor.
    if (schema === undefined || name === findCursorParameter(shape)) continue;
    if (!isTooLong(values, schema)) continue;
    first.set(name, `must be at most ${maxCharacters(schema)} characters long`);
  }
  for (const issue of issues) {
    const name = String(issue.path[0]);
    if (!first.has(name)) first.set(name, messageFor(issue, sent.get(name) ?? []));
  }
  return [
    ...unknown.flatMap((name) => describeUnknown(name, shape, aliases) ?? []),
    ...[...first].map(([name, message]) => ({ path: name, field: name, message })),
  ];
}

/** `values` are those of the parameter. A path has an index if an entry of a list is bad. */
function messageFor(issue: z.core.$ZodIssue, values: readonly string[]): string {
  const [, index] = issue.path;
  if (index === undefined && values.length > 1) return 'must be sent once';
  const value = index === undefined ? values[0] : splitAtCommas(values)[Number(index)];
  if (issue.code !== 'invalid_value' || value === undefined) return issue.message;
  const shown = value === '' ? 'an empty value' : formatPath([value]);
  return `${shown} is none of ${issue.values.map(String).join(', ')}`;
}
