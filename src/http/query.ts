/** Validates queries, and rejects unknown parameters. */

import { zValidator } from '@hono/zod-validator';
import * as z from 'zod';
import { IN_WORDS, isNonEmpty } from '../schema.ts';
import { formatPath, type Problem, validationError } from './errors.ts';
import { isIntact } from './paging.ts';

type Aliases = Readonly<Record<string, string>>;
type SentQuery = Readonly<Record<string, string[]>>;

/**
 * Validates the query. `aliases` maps names from other parts of the API to parameters.
 *
 * Throws a `validation_error` with every bad parameter in `details`, unknown ones included. A bad
 * cursor joins other problems. Alone it passes: the handler decodes it, and throws `invalid_cursor`.
 */
export function validQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  aliases: Aliases = {},
) {
  const known = new Set(Object.keys(schema.shape));
  return zValidator(
    'query',
    schema,
    async (result, c) => {
      const sent = c.req.queries();
      if (result.success && known.isSupersetOf(new Set(Object.keys(sent)))) return;
      const issues = result.success ? [] : result.error.issues;
      const problems = queryProblems(schema, sent, issues, aliases);
      if (!isNonEmpty(problems)) return;
      const cursorName = findCursorParameter(schema.shape) ?? '';
      const [cursor] = sent[cursorName] ?? [];
      const isNamed = problems.some(({ path }) => path === cursorName);
      if (cursor !== undefined && !isNamed && !(await isIntact(cursor))) {
        const message = 'is not a cursor of this list';
        problems.push({ path: cursorName, field: cursorName, message });
      }
      throw validationError(problems);
    },
    { validationFunction: (schema, values) => schema.safeParse(values, IN_WORDS) },
  );
}

/** Unknown parameters first, then zod's `issues`. */
export function queryProblems(
  schema: z.ZodObject,
  sent: SentQuery,
  issues: readonly z.core.$ZodIssue[],
  aliases: Aliases = {},
): Problem[] {
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(schema.shape, name));
  return [
    ...unknown.flatMap((name) => unknownParameter(name, schema, aliases) ?? []),
    ...parameterProblems(issues, sent),
  ];
}

const CURSOR_PARAMETERS = ['cursor', 'after'];

/** What other APIs page by. */
const PAGING_NAMES =
  /^(cursor|after|resume_cursor|next_cursor|starting_after|ending_before|page|offset|page_token)$/;

const USUAL_NAMES = { lang: 'locale', language: 'locale' };

/** Parameters that links append, and that scripts append against caches. */
const APPENDED =
  /^((utm|gad|pk|mtm|matomo|hsa|ref)?_.*|[a-z]*cl(k|ick)?id|gclsrc|[gw]braid|igsh(id)?|srsltid|li_fat_id|mc_[ce]id|epik|mkt_tok|ref|t|v|cb|ts|(no)?cache)$/i;

/** A name with brackets at its end. Anchored at both ends, a long name takes linear time. */
const IN_BRACKETS = /^([^[]*)(?:\[[^[\]]*\])+$/;

/**
 * Undefined for a parameter that links append. The message suggests a known parameter that the name
 * is an alias of, or differs from only by case or brackets.
 */
function unknownParameter(
  name: string,
  { shape }: z.ZodObject,
  aliases: Aliases,
): Problem | undefined {
  if (APPENDED.test(name)) return undefined;
  const known = Object.keys(shape);
  const cursorName = findCursorParameter(shape);
  const plain = name.replace(IN_BRACKETS, '$1').toLowerCase();
  const meant = PAGING_NAMES.test(plain)
    ? cursorName
    : (new Map(Object.entries({ ...USUAL_NAMES, ...aliases })).get(plain) ?? plain);
  const isNearMiss = meant !== undefined && known.includes(meant);
  const advice = isNearMiss
    ? `${meant === cursorName ? 'page with' : 'use'} ${meant}`
    : `known are ${known.join(', ') || 'none'}`;
  return {
    path: formatPath([name]),
    field: 'query',
    message: `is not a parameter here: ${advice}`,
  };
}

function findCursorParameter(shape: object): string | undefined {
  return CURSOR_PARAMETERS.find((name) => Object.hasOwn(shape, name));
}

function parameterProblems(issues: readonly z.core.$ZodIssue[], sent: SentQuery): Problem[] {
  const first = new Map<string, Problem>();
  for (const issue of issues) {
    const [parameter, index] = issue.path;
    const name = String(parameter);
    if (first.has(name)) continue;
    const values = sent[name] ?? [];
    // A path has an index if an entry of a list is bad.
    const isRepeated = index === undefined && values.length > 1;
    const value = index === undefined ? values[0] : splitAtCommas(values)[Number(index)];
    first.set(name, {
      path: name,
      field: name,
      message: isRepeated ? 'must be sent once' : messageFor(issue, value),
    });
  }
  return [...first.values()];
}

function messageFor(issue: z.core.$ZodIssue, value: string | undefined): string {
  if (issue.code !== 'invalid_value' || value === undefined) return issue.message;
  const shown = value === '' ? 'an empty value' : formatPath([value]);
  return `${shown} is none of ${issue.values.map(String).join(', ')}`;
}

/** E.g. `status=listed, sold_out` and `status=listed&status=sold_out` → two texts. */
export const commaSeparated = z
  .union([z.string(), z.array(z.string())])
  .transform((sent) => splitAtCommas([sent].flat()));

function splitAtCommas(sent: readonly string[]): string[] {
  const values = sent.join().split(',');
  return values.map((value) => value.replace(/^ +| +$/g, ''));
}

/** Makes the schema of a list of some `names`. The output is deduplicated, in their order. */
export function enumList<const Known extends readonly [string, ...string[]]>(names: Known) {
  return commaSeparated.pipe(z.array(z.enum(names))).transform((chosen): Known[number][] => {
    const listed = new Set<string>(chosen);
    return names.filter((known) => listed.has(known));
  });
}

/** OpenAPI metadata of a parameter that lists `items` with commas. */
export function listMetadata(items: object, maxItems: number): z.GlobalMeta {
  const array = { type: 'array', items, minItems: 1, maxItems };
  return {
    override: ({ jsonSchema }) => void Object.assign(jsonSchema, array, { anyOf: undefined }),
    param: { style: 'form', explode: false },
  };
}
