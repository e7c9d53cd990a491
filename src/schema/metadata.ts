/** OpenAPI metadata of schemas. */

import * as z from 'zod';

/**
 * Attaches OpenAPI metadata to a schema, and returns the schema. Throws for a schema that has
 * metadata already: if several fields share a schema, use zod's `meta`, which makes a copy.
 *
 * @example withMetadata(text.nullable(), 'Town.', 'Bosa')
 */
export function withMetadata<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  ...examples: unknown[]
): Schema {
  if (z.globalRegistry.has(schema)) throw new Error(`"${description}": use meta, which copies.`);
  z.globalRegistry.add(schema, { description, ...(examples.length > 0 && { examples }) });
  return schema;
}
