/**
 * Query parameters. Each has one schema, which bounds its value; the object of all of them rejects
 * unknown names. Where a parameter is a list, `status=a,b` is the same as `status=a&status=b`,
 * `status[]=a&status[]=b` (axios) and `status[0]=a&status[1]=b` (PHP).
 */

import { zValidator } from '@hono/zod-validator';
import * as z from 'zod';
import { formatPath, type Problem, validationError } from './errors.ts';
import { addHint, adviseOn } from './hints.ts';
import { invalidCursor } from './paging.ts';
import { IN_WORDS, readIssues } from './validation-problems.ts';

/** Parameter → its value, or its values in the order sent. */
type SentQuery = Readonly<Record<string, string | string[]>>;

/** Parameters that links append, and that scripts append against caches. They are ignored. */
const APPENDED =
  /^((utm|gad|pk|mtm|matomo|hsa|ref)?_.*|[a-z]*cl(k|ick)?id|gclsrc|[gw]braid|igsh(id)?|srsltid|li_fat_id|mc_[ce]id|epik|mkt_tok|ref|t|v|cb|ts|(no)?cache)$/i;

/** At the end of a name. Any number: a list has the order in which its values were sent. */
const INDEX = /\[\d*\]$/;

/**
 * Validates the query. Throws a `validation_error` with every bad parameter in `details`, unknown
 * ones first, and a bad cursor included. If nothing else is bad, a bad cursor is an `invalid_cursor`.
 */
export function validQuery<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>) {
  const strict = schema.strict();
  const known = Object.keys(schema.shape);
  const lists = new Set(known.filter((name) => isList(schema.shape[name])));

  return zValidator('query', schema, undefined, {
    validationFunction: (_, query: SentQuery) => {
      const sent: Record<string, string | string[]> = {};
      for (const [written, value] of Object.entries(query)) {
        const plain = written.replace(INDEX, '');
        // A template joins several values with commas.
        if (lists.has(plain)) sent[plain] = plain in sent ? `${sent[plain]},${value}` : `${value}`;
        else if (known.includes(written) || !APPENDED.test(written)) sent[written] = value;
      }
      const parsed = strict.safeParse(sent, IN_WORDS);
      if (parsed.success) return parsed;
      const found = readIssues(parsed.error);
      const unknown = found.flatMap((each) => each.unknown ?? []);
      const bad = found.filter((each) => each.unknown === undefined);
      const problems = [
        ...unknown.map((name) => unknownName(name, known)),
        ...bad.map(({ issue }) => badValue(issue, sent)),
      ];
      const [first, ...others] = problems;
      throw first?.code === 'invalid_cursor' && others.length === 0
        ? invalidCursor(first.path, first.message)
        : validationError(problems);
    },
  });
}

function unknownName(name: string, known: readonly string[]): Problem {
  const path = formatPath([name]);
  const message = `is not a parameter here: known are ${known.join(', ') || 'none'}`;
  const advice = adviseOn({ unknown: name, known });
  return { path, field: 'query', message: addHint(message, advice) };
}

function badValue(issue: z.core.$ZodIssue, sent: SentQuery): Problem {
  const path = String(issue.path[0]);
  const message = Array.isArray(sent[path]) ? 'must be sent once' : messageFor(issue);
  const isOfCursor = issue.code === 'custom' && issue.params?.code === 'invalid_cursor';
  return {
    path,
    field: path,
    message: addHint(message, adviseOn(issue)),
    ...(isOfCursor && { code: 'invalid_cursor' }),
  };
}

function messageFor(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return issue.message;
  const value = issue.input === '' ? 'an empty value' : formatPath([issue.input]);
  return `${value} is none of ${issue.values.map(String).join(', ')}`;
}

/** A list of `enumList` that names no more than needed has fewer characters. */
const MAX_LIST_CHARACTERS = 1_000;

/** The schema of a list, e.g. `listed, sold_out`. A repeated parameter is joined with commas. */
export function listOf(value: z.ZodType<string, string>, maxCharacters = MAX_LIST_CHARACTERS) {
  return z
    .string()
    .max(maxCharacters, `must be at most ${maxCharacters} characters long`)
    .transform((sent) => sent.split(',').map((each) => each.trim()))
    .pipe(z.array(value));
}

/** Makes the schema of a list of some `names`. The output is deduplicated, in their order. */
export function enumList<const Known extends readonly [string, ...string[]]>(names: Known) {
  return listOf(z.enum(names)).transform((chosen): Known[number][] => {
    const listed = new Set<string>(chosen);
    return names.filter((known) => listed.has(known));
  });
}

const LIST_STYLE = { style: 'form', explode: false } as const;

/** OpenAPI metadata of a parameter that lists `items` with commas, for `register`. */
export function listMetadata(items: Record<string, unknown>, maxItems: number): z.GlobalMeta {
  const array = { type: 'array', items, minItems: 1, maxItems };
  return {
    override: ({ jsonSchema }) => void Object.assign(jsonSchema, array, { maxLength: undefined }),
    param: LIST_STYLE,
  };
}

function isList(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && z.globalRegistry.get(schema)?.param === LIST_STYLE;
}
