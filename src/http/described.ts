/** Descriptions for the OpenAPI document, beside the schemas. */

import * as z from 'zod';

/**
 * Describes a schema, with examples, and returns it. It makes no copy: if several fields share a schema, describe it
 * with zod's `meta`, which makes one.
 *
 * @example described(text.nullable(), 'Town.', 'Bosa')
 */
export function described<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  ...examples: unknown[]
): Schema {
  z.globalRegistry.add(schema, { description, ...(examples.length > 0 && { examples }) });
  return schema;
}
