/** Validates the query of a list or an item, and refuses every parameter that the service would have to ignore. */

import { zValidator } from '@hono/zod-validator';
import * as z from 'zod';
import { type Problem, pathOf, validationError } from './errors.ts';
import { isIntact } from './paging.ts';
import { isNonEmpty } from './validate.ts';

/**
 * Validates the query: each parameter at most once, unless it is a list itself. `aliases` maps names that other parts
 * of the API use to the parameter of this schema that is meant.
 *
 * Throws a `validation_error` with every bad parameter in `details`, an altered cursor among them. When the cursor is
 * the only bad parameter, it passes: the handler decodes it, and throws `invalid_cursor`. Unknown parameters are bad
 * too: an answer that ignores `sort=price` or `bedrooms=3` looks as if it was sorted or filtered.
 */
export function validQuery<S extends z.ZodObject>(
  schema: S,
  aliases: Readonly<Record<string, string>> = {},
) {
  return zValidator('query', schema, async (result, c) => {
    const sent = c.req.queries();
    if (result.success && Object.keys(sent).every((name) => Object.hasOwn(schema.shape, name)))
      return;
    const problems = queryProblems(schema, sent, aliases);
    if (!isNonEmpty(problems)) return;
    const cursorName = cursorParameterOf(schema.shape);
    const [cursor] = (cursorName && sent[cursorName]) ?? [];
    const isNamed = problems.some(({ path }) => path === cursorName);
    if (cursor !== undefined && cursorName && !isNamed && !(await isIntact(cursor))) {
      problems.push({
        path: cursorName,
        field: cursorName,
        message: 'is not one that this list gave',
      });
    }
    throw validationError(problems);
  });
}

/** Returns the problems of a query, unknown parameters first, each under its name. */
export function queryProblems(
  schema: z.ZodObject,
  sent: Readonly<Record<string, string[]>>,
  aliases: Readonly<Record<string, string>> = {},
): Problem[] {
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(schema.shape, name));
  const values = Object.entries(sent).map(([name, all]) => [name, all.length > 1 ? all : all[0]]);
  const issues = schema.safeParse(Object.fromEntries(values)).error?.issues ?? [];
  return [
    ...unknown.flatMap((name) => unknownParameter(name, schema, aliases) ?? []),
    ...parameterProblems(issues, sent),
  ];
}

/** The parameters that take a cursor. A list has one of them. */
const CURSOR_PARAMETERS = ['cursor', 'after'];

/** Paging parameters of other APIs and lists. If one was ignored, its client would read page one for ever. */
const PAGING_NAMES = [
  ...CURSOR_PARAMETERS,
  'resume_cursor',
  'next_cursor',
  'starting_after',
  'ending_before',
  'page',
  'offset',
  'page_token',
];

/** Usual names elsewhere → the parameter of this API. */
const USUAL_NAMES = { lang: 'locale', language: 'locale', location_slug: 'location' };

/** Parameters that links and caches append: campaigns, click ids, and names that begin with `_`. */
const APPENDED =
  /^(utm_.*|_.*|[a-z]*clk?id|gclsrc|gbraid|wbraid|igshid|srsltid|li_fat_id|mc_[ce]id)$/i;

/** A name with brackets at its end. Anchored at both ends, so that a long name takes linear time. */
const IN_BRACKETS = /^([^[]*)(?:\[[^[\]]*\])+$/;

/**
 * Returns the problem of a parameter that the schema lacks, or undefined for a parameter that links append. Its message
 * names the parameter that is meant, where the name is an alias, or differs by case or brackets only.
 */
function unknownParameter(
  name: string,
  { shape }: z.ZodObject,
  aliases: Readonly<Record<string, string>>,
): Problem | undefined {
  if (APPENDED.test(name)) return undefined;
  const known = Object.keys(shape);
  const cursorName = cursorParameterOf(shape);
  const plain = name.replace(IN_BRACKETS, '$1').toLowerCase();
  const meant = PAGING_NAMES.includes(plain)
    ? cursorName
    : (new Map(Object.entries({ ...USUAL_NAMES, ...aliases })).get(plain) ?? plain);
  const isNearMiss = meant !== undefined && known.includes(meant);
  const advice = isNearMiss
    ? `${meant === cursorName ? 'page with' : 'use'} ${meant}`
    : `known are ${known.join(', ') || 'none'}`;
  return { path: pathOf([name]), message: `is not a parameter here: ${advice}` };
}

/** Returns the parameter that takes a list's cursors; undefined for an item. */
function cursorParameterOf(shape: object): string | undefined {
  return CURSOR_PARAMETERS.find((name) => Object.hasOwn(shape, name));
}

/** Returns one problem per parameter. Its path is the parameter's name, even if an entry of a list is bad. */
function parameterProblems(
  issues: readonly z.core.$ZodIssue[],
  sent: Readonly<Record<string, string[]>>,
): Problem[] {
  const first = new Map<string, Problem>();
  for (const issue of issues) {
    const [parameter, index] = issue.path;
    const name = String(parameter);
    if (first.has(name)) continue;
    const values = sent[name] ?? [];
    // The path of an issue has an index where an entry of a list is bad.
    const isRepeated = index === undefined && values.length > 1;
    const value = index === undefined ? values[0] : values.join().split(',')[Number(index)];
    first.set(name, {
      path: name,
      field: name,
      message: isRepeated ? 'must be given once' : messageFor(issue, value),
    });
  }
  return [...first.values()];
}

/** Returns the message of an issue. For a parameter of fixed values it shows the value that was sent. */
function messageFor(issue: z.core.$ZodIssue, value: string | undefined): string {
  if (issue.code !== 'invalid_value' || value === undefined) return issue.message;
  const shown = value === '' ? 'an empty value' : pathOf([value]);
  return `${shown} is none of ${issue.values.map(String).join(', ')}`;
}

/**
 * The texts of a parameter that is a list: comma-separated, repeated, or both, so that `status=listed&status=sold_out`
 * is `status=listed,sold_out`.
 */
export const listedTexts = z
  .union([z.string(), z.array(z.string())])
  .transform((sent) => [sent].flat().join(',').split(','));

/**
 * Makes the schema of a parameter that lists some of `names`. Its output has each name once, in the order of `names`:
 * equal lists have equal outputs.
 */
export function namesIn<const Known extends readonly [string, ...string[]]>(names: Known) {
  return listedTexts.pipe(z.array(z.enum(names))).transform((asked): Known[number][] => {
    const listed = new Set<string>(asked);
    return names.filter((known) => listed.has(known));
  });
}

/** Returns the OpenAPI metadata of a parameter that lists values: an array of texts, written with commas. */
export function listMetadata(items: object, maxItems: number): z.GlobalMeta {
  const array = { type: 'array', items: { type: 'string', ...items }, minItems: 1, maxItems };
  return {
    override: ({ jsonSchema }) => void Object.assign(jsonSchema, array, { anyOf: undefined }),
    param: { style: 'form', explode: false },
  };
}
