/** Descriptions of schemas for the OpenAPI document. They are beside the schemas, so that a field has one place. */

import * as z from 'zod';

/**
 * Describes a schema, with examples, and returns it. Registering copies nothing: describe a schema that several fields
 * share with zod's `meta`, which makes a copy for the field.
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
