/** Makes schemas for numbers that arrive as text. */

import * as z from 'zod';

/** Makes the schema of a whole number that arrives as text, such as a var or a query parameter. */
export function wholeNumber(minimum: number, maximum: number) {
  const metadata = { type: 'integer', format: 'int32', minimum, maximum };
  // `Number` would return infinity for 309 digits.
  return makeNumberSchema(/^-?\d{1,300}$/, 'must be a whole number', metadata);
}

/** Makes the schema of a decimal number that arrives as text, e.g. `2.5`. */
export function decimal(minimum: number, maximum: number) {
  const metadata = { type: 'number', minimum, maximum };
  return makeNumberSchema(/^-?\d{1,15}(\.\d{1,9})?$/, 'must be a number such as 2.5', metadata);
}

function makeNumberSchema(
  form: RegExp,
  message: string,
  metadata: { minimum: number; maximum: number },
) {
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
