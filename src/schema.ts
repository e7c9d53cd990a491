/** What every schema uses: metadata, and the schemas that capabilities share. */

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

/** A UUID in either case. Without flags, because the OpenAPI document has it. */
const UUID_FORM = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
export const UUID_PATTERN = UUID_FORM.source;
const LOWER_CASE_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return UUID_FORM.test(text);
}

const METADATA = {
  format: 'uuid',
  minLength: 36,
  maxLength: 36,
  examples: ['5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'],
};

/** A UUID as a caller may write it. Its output is in lower case. */
export const uuid = z
  .string()
  .regex(UUID_FORM, 'must be a UUID')
  .toLowerCase()
  .register(z.globalRegistry, METADATA);

/** A UUID as the service writes it. */
export const lowerCaseUuid = z.string().regex(LOWER_CASE_FORM).register(z.globalRegistry, METADATA);
