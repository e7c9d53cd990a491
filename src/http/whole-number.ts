/** Whole numbers written in digits: vars and query parameters are text. */

import * as z from 'zod';

/** Makes the schema of a whole number. */
export function wholeNumber(minimum: number, maximum: number) {
  return z.coerce.string<string | number>().transform((text, context) => {
    const number = Number(text);
    if (!/^-?\d+$/.test(text)) context.addIssue('must be a whole number');
    else if (number < minimum) context.addIssue(`must be at least ${minimum}`);
    else if (number > maximum) context.addIssue(`must be at most ${maximum}`);
    return number;
  });
}
