/** Query parameters that list values. `status=a,b`, `status=a&status=b` and `status[]=a&status[]=b` are equal. */

import * as z from 'zod';

/** Of a parameter with one value, and the least for a list. */
export const MAX_VALUE_CHARACTERS = 1_000;
/** A comma and a space. */
const SEPARATOR_CHARACTERS = 2;

/** The metadata `param` of a list → the characters of its longest value. */
const longestLists = new WeakMap<object, number>();

/** e.g. `status=listed, sold_out` and `status=listed&status=sold_out` → two texts. */
export const commaSeparated = z
  .union([z.string(), z.array(z.string())])
  .transform((sent) => splitAtCommas([sent].flat()));

export function splitAtCommas(sent: readonly string[]): string[] {
  return sent
    .join()
    .split(',')
    .map((value) => value.trim());
}

/** Makes the schema of a list of some `names`. The output is deduplicated, in their order. */
export function enumList<const Known extends readonly [string, ...string[]]>(names: Known) {
  return commaSeparated.pipe(z.array(z.enum(names))).transform((chosen): Known[number][] => {
    const listed = new Set<string>(chosen);
    return names.filter((known) => listed.has(known));
  });
}

type JsonSchema = { maxLength?: number; [keyword: string]: unknown };

/** OpenAPI metadata of a parameter that lists `items` with commas, for `register`. */
export function listMetadata(items: JsonSchema, maxItems: number): z.GlobalMeta {
  const array = { type: 'array', items, minItems: 1, maxItems };
  const param = { style: 'form', explode: false } as const;
  const longest = maxItems * ((items.maxLength ?? 0) + SEPARATOR_CHARACTERS);
  longestLists.set(param, Math.max(MAX_VALUE_CHARACTERS, longest));
  return {
    override: ({ jsonSchema }) => void Object.assign(jsonSchema, array, { anyOf: undefined }),
    param,
  };
}

export function isListParameter(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && longestLists.has(paramOf(schema));
}

/** The most characters of a parameter's value, with the values of a repeated one joined by commas. */
export function maxCharacters(schema: z.core.$ZodType): number {
  return longestLists.get(paramOf(schema)) ?? MAX_VALUE_CHARACTERS;
}

function paramOf(schema: z.core.$ZodType): object {
  return z.globalRegistry.get(schema)?.param ?? schema;
}
