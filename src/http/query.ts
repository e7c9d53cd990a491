/**
 * Validates query parameters. Each parameter has a schema that limits its value. Unknown parameters are
 * rejected. A list can be written in four ways:
 *
 *     status=a,b
 *     status=a&status=b
 *     status[]=a&status[]=b      axios
 *     status[0]=a&status[1]=b    PHP
 */

import { zValidator } from '@hono/zod-validator';
import * as z from 'zod';
import { formatPath, type Problem, validationError } from './errors.ts';
import { addHint } from './hints.ts';
import { invalidCursor } from './paging.ts';
import { messageFor, toProblems } from './validation-problems.ts';

/** The value of each parameter, or its values in the order in which they were sent. */
type SentQuery = Readonly<Record<string, string | string[]>>;

/**
 * Matches parameters that trackers append to links, and that scripts append to bypass caches. The
 * service ignores them.
 */
const APPENDED =
  /^((utm|gad|pk|mtm|matomo|hsa|ref)?_.*|[a-z]*cl(k|ick)?id|gclsrc|[gw]braid|igsh(id)?|srsltid|li_fat_id|mc_[ce]id|epik|mkt_tok|ref|t|v|cb|ts|(no)?cache)$/i;

/**
 * Matches the index at the end of a parameter's name. The number is ignored, because values are read in
 * the order in which they were sent.
 */
const INDEX = /\[\d*\]$/;

/**
 * Validates the query. Throws a `validation_error` with every invalid parameter in `details`, unknown
 * ones first. If the cursor is the only invalid parameter, the error is an `invalid_cursor`.
 */
export function validQuery<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>) {
  const strictSchema = schema.strict();
  const knownNames = Object.keys(schema.shape);
  const lists = new Set(knownNames.filter((name) => isList(schema.shape[name])));
  const parameters =
    knownNames.length === 0
      ? 'This operation has no parameters.'
      : `The parameters are ${knownNames.join(', ')}.`;
  const explainName = (name: string) =>
    addHint(`is not a parameter here. ${parameters}`, suggestName(name, knownNames));

  return zValidator('query', schema, undefined, {
    validationFunction: (_, query: SentQuery) => {
      const values: Record<string, string | string[]> = {};
      for (const [name, value] of Object.entries(query)) {
        const plainName = name.replace(INDEX, '');
        // The template literal joins a repeated parameter with commas.
        if (lists.has(plainName)) {
          values[plainName] = plainName in values ? `${values[plainName]},${value}` : `${value}`;
        } else if (knownNames.includes(name) || !APPENDED.test(name)) values[name] = value;
      }
      const parsed = strictSchema.safeParse(values, QUERY_OPTIONS);
      if (parsed.success) return parsed;
      // Problems with the field `query` are about unknown names.
      const rank = ({ field }: Problem) => (field === 'query' ? 0 : 1);
      const problems = toProblems(parsed.error, explainName)
        .map((problem) => toParameterProblem(problem, values))
        .toSorted((a, b) => rank(a) - rank(b));
      const [first, ...others] = problems;
      throw first?.code === 'invalid_cursor' && others.length === 0
        ? invalidCursor(first.path, first.message)
        : validationError(problems);
    },
  });
}

/** Options for zod's `safeParse`. If a value is not in an enum, the message repeats the value. */
const QUERY_OPTIONS = { error: messageForParameter, reportInput: true };

function messageForParameter(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return messageFor(issue);
  const value = issue.input === '' ? 'an empty value' : formatPath([issue.input]);
  return `${value} is not one of ${issue.values.map(String).join(', ')}`;
}

/**
 * Turns a problem at a list entry, e.g. `status.0`, into a problem with the parameter. A problem with
 * an unknown name gets the field `query`.
 */
function toParameterProblem(problem: Problem, values: SentQuery): Problem {
  const { field } = problem;
  if (field === undefined) return { ...problem, field: 'query' };
  const isRepeated = Array.isArray(values[field]);
  return { ...problem, path: field, ...(isRepeated && { message: 'must be sent once' }) };
}

/** Names from other APIs and operations, with the parameters that their senders may mean. */
const MEANT_NAMES: readonly [RegExp, ...string[]][] = [
  [
    /^(cursor|after|(resume|next)_cursor|starting_after|ending_before|page|offset|page_token)$/,
    'cursor',
    'after',
  ],
  [/^lang(uage)?$/, 'locale'],
  [/^event_type$/, 'type'],
  [/^location_slug$/, 'location'],
];

/**
 * Matches a name that ends with brackets. The pattern is anchored at both ends, so that matching takes
 * linear time.
 */
const IN_BRACKETS = /^([^[]*)(?:\[[^[\]]*\])+$/;

/**
 * Returns a hint for a name that other APIs use, or that differs from a parameter only by capitals or
 * brackets.
 */
function suggestName(name: string, knownNames: readonly string[]): string | undefined {
  const plainName = name.replace(IN_BRACKETS, '$1').toLowerCase();
  const [, ...names] = MEANT_NAMES.find(([pattern]) => pattern.test(plainName)) ?? [];
  const meantName = [...names, plainName].find((candidate) => knownNames.includes(candidate));
  return meantName && `Use ${meantName}.`;
}

/** Maximum length of a list parameter. A list of all values of an enum is shorter. */
const MAX_LIST_CHARACTERS = 1_000;

/**
 * Makes the schema of a comma-separated list, e.g. `listed, sold_out`. The values of a repeated
 * parameter arrive joined with commas.
 */
export function makeListSchema(
  value: z.ZodType<string, string>,
  maxCharacters = MAX_LIST_CHARACTERS,
) {
  return z
    .string()
    .max(maxCharacters, `must be at most ${maxCharacters} characters long`)
    .transform((text) => text.split(',').map((value) => value.trim()))
    .pipe(z.array(value));
}

/**
 * Makes the schema of a list of `names`. Parsing removes duplicates and sorts the values in the order
 * of `names`.
 */
export function makeEnumListSchema<const Names extends readonly [string, ...string[]]>(
  names: Names,
) {
  return makeListSchema(z.enum(names)).transform((values): Names[number][] => {
    const chosenNames = new Set<string>(values);
    return names.filter((name) => chosenNames.has(name));
  });
}

/** The OpenAPI style of lists. `isList` recognises the schema of a list by this object. */
const LIST_STYLE = { style: 'form', explode: false } as const;

/** Makes the OpenAPI metadata of a comma-separated list of `items`, for `register`. */
export function makeListMetadata(items: Record<string, unknown>, maxItems: number): z.GlobalMeta {
  const array = { type: 'array', items, minItems: 1, maxItems };
  return {
    override: ({ jsonSchema }) => void Object.assign(jsonSchema, array, { maxLength: undefined }),
    param: LIST_STYLE,
  };
}

function isList(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && z.globalRegistry.get(schema)?.param === LIST_STYLE;
}
