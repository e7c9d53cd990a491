/** Schemas of numbers in digits. */

import * as z from 'zod';

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
