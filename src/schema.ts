/** What every schema uses: metadata, and numbers in digits. */

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

/** Makes the schema of a whole number in digits: vars and query parameters are text. */
export function wholeNumber(minimum: number, maximum: number) {
  const metadata = { type: 'integer', format: 'int32', minimum, maximum };
  // A number of 309 digits is infinite.
  return numberOf(/^-?\d{1,300}$/, 'must be a whole number', metadata);
}

/** Makes the schema of a number in digits with a decimal point, e.g. 2.5. */
export function decimal(minimum: number, maximum: number) {
  const metadata = { type: 'number', minimum, maximum };
  return numberOf(/^-?\d{1,15}(\.\d{1,9})?$/, 'must be a number such as 2.5', metadata);
}

function numberOf(form: RegExp, message: string, metadata: { minimum: number; maximum: number }) {
  return z.coerce
    .string<string | number>()
    .regex(form, message)
    .transform(Number)
    .pipe(z.number().min(metadata.minimum).max(metadata.maximum))
    .register(z.globalRegistry, {
      override: ({ jsonSchema }) =>
        void Object.assign(jsonSchema, { ...metadata, pattern: undefined }),
    });
}
