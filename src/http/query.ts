/** Validates the query of a list or an item. For a list it refuses what would be ignored although it was meant. */

import { zValidator } from '@hono/zod-validator';
import type { MiddlewareHandler } from 'hono';
import * as z from 'zod';
import type { AppEnv } from '../config.ts';
import { isIntact } from './cursor.ts';
import { type Problem, pathOf, validationError } from './errors.ts';
import { isNonEmpty } from './validate.ts';

/** Paging words of other APIs: a client that pages with them would read page one for ever. */
export const FOREIGN_PAGING_WORDS = [
  'starting_after',
  'ending_before',
  'page',
  'offset',
  'page_token',
  'next_cursor',
];

/** A name with brackets behind it. Anchored at both ends, so that no name takes more than one pass. */
const IN_BRACKETS = /^([^[]*)(?:\[[^[\]]*\])+$/;

/** A validator of the query. `Parts` are the types of the other parts that the route reads, for Hono's client. */
type QueryValidator<S extends z.ZodObject, Parts> = MiddlewareHandler<
  AppEnv,
  string,
  { in: { query: z.input<S> } & Parts; out: { query: z.output<S> } }
>;

/**
 * Validates the query of a list: known parameters by the schema, each at most once unless it is a
 * list itself. Unknown parameters are ignored (sites append `utm_*`), except near misses of a known
 * one. `aliases` are names that another part of the API has for a parameter of this list, and
 * `cursorName` is the parameter that this list pages with.
 *
 * Throws a `validation_error` with every bad parameter in `details`, an unreadable cursor among them;
 * a cursor that is alone at fault is left to whoever decodes it.
 */
export function listQuery<S extends z.ZodObject, Parts = unknown>(
  schema: S,
  aliases: Readonly<Record<string, string>> = {},
  cursorName: 'cursor' | 'after' = 'cursor',
): QueryValidator<S, Parts> {
  const known = new Set(Object.keys(schema.shape));
  const pagingWords = Object.fromEntries(FOREIGN_PAGING_WORDS.map((word) => [word, cursorName]));
  const meantBy = { ...pagingWords, ...aliases };
  const validate = zValidator('query', schema, async (result, c) => {
    const sent = c.req.queries();
    const problems = [
      ...nearMisses(Object.keys(sent), known, meantBy, cursorName),
      ...(result.success ? [] : parameterProblems(result.error.issues, sent)),
    ];
    if (!isNonEmpty(problems)) return;
    const [cursor] = sent[cursorName] ?? [];
    const isNamed = problems.some(({ path }) => path === cursorName);
    if (cursor !== undefined && !isNamed && !(await isIntact(cursor))) {
      problems.push({ path: cursorName, message: 'is not one that this list gave' });
    }
    throw validationError(problems);
  });
  return (c, next) => validate(c as never, next);
}

/**
 * Validates the query of a single resource. Unknown parameters are ignored, near misses too: nothing is
 * filtered here. Throws a `validation_error` with every bad parameter in `details`.
 */
export function itemQuery<S extends z.ZodObject, Parts = unknown>(
  schema: S,
): QueryValidator<S, Parts> {
  const validate = zValidator('query', schema, (result, c) => {
    if (result.success) return;
    const problems = parameterProblems(result.error.issues, c.req.queries());
    if (isNonEmpty(problems)) throw validationError(problems);
  });
  return (c, next) => validate(c as never, next);
}

/**
 * Returns a problem for each name that is nearly a parameter: in another case, with brackets
 * (`status[]`, `page[size]`), or under an alias. Ignoring it would answer another question than was asked.
 */
function nearMisses(
  sent: readonly string[],
  known: ReadonlySet<string>,
  meantBy: Readonly<Record<string, string>>,
  cursorName: string,
): Problem[] {
  return sent
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      const plain = name.replace(IN_BRACKETS, '$1').toLowerCase();
      const meant = known.has(plain)
        ? plain
        : Object.entries(meantBy).find(([alias]) => alias === plain)?.[1];
      if (meant === undefined) return [];
      const advice = meant === cursorName ? `page with ${cursorName}` : `use ${meant}`;
      return [{ path: pathOf([name]), message: `is not a parameter of this list: ${advice}` }];
    });
}

/** Returns one problem per parameter, under its name: inside a value, a query has no path. */
function parameterProblems(
  issues: readonly z.core.$ZodIssue[],
  sent: Readonly<Record<string, string[]>>,
): Problem[] {
  const first = new Map<string, Problem>();
  for (const { path, message } of issues) {
    const name = String(path[0]);
    if (first.has(name)) continue;
    // An entry of a list has a path of its own.
    const isOnceTooOften = path.length === 1 && (sent[name]?.length ?? 0) > 1;
    first.set(name, { path: name, message: isOnceTooOften ? 'must be given once' : message });
  }
  return [...first.values()];
}

type Names = readonly [string, ...string[]];

/**
 * Makes the schema of a parameter that lists some of `names`: comma-separated, repeated, or both, so
 * that `status=listed&status=sold_out` is `status=listed,sold_out`. Its output has each name once, in
 * the order of `names`: equal lists have equal outputs.
 */
export function namesIn<const Known extends Names>(names: Known) {
  const name = z.enum(names, { error: `must be a comma-separated list of ${names.join(', ')}` });
  return z
    .union([z.string(), z.array(z.string())])
    .transform((sent) => [sent].flat().join(',').split(','))
    .pipe(z.array(name))
    .transform((asked): Known[number][] => {
      const listed = new Set<string>(asked);
      return names.filter((known) => listed.has(known));
    });
}

/** Describes such a parameter for the OpenAPI document: an array, written with commas. */
export function listMeta(names: Names, description: string) {
  const override = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
    delete jsonSchema.anyOf;
    const items = { type: 'string', enum: [...names] };
    Object.assign(jsonSchema, { type: 'array', items, minItems: 1, maxItems: names.length });
  };
  return { description, override, param: { style: 'form' as const, explode: false } };
}
