/** Query parameters that list known names. */

import * as z from 'zod';

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
