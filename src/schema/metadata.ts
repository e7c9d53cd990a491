/** Attaches OpenAPI metadata to schemas. */

import * as z from 'zod';

/**
 * Attaches OpenAPI metadata to a schema, and returns the schema. Throws if the schema already has
 * metadata. If two or more fields share a schema, use zod's `meta`, which makes a copy.
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
