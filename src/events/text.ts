/** Texts with a length in characters (Unicode code points), as JSON Schema counts them. */

import * as z from 'zod';

export const MAX_NAME_CHARACTERS = 255;

/** A text of `minimum` to `maximum` characters. */
export function characters(minimum: number, maximum: number) {
  return z
    .string()
    .refine((text) => countOf(text) >= minimum, {
      error: `must be at least ${minimum} characters long`,
    })
    .refine((text) => countOf(text) <= maximum, {
      error: `must be at most ${maximum} characters long`,
    })
    .meta({ minLength: minimum, maxLength: maximum });
}

/** What events are found by: 1 to 255 characters without NUL, which SQLite's own functions cut a text at. */
export const name = characters(1, MAX_NAME_CHARACTERS).regex(
  /^[^\0]*$/,
  'must not contain NUL (U+0000)',
);

function countOf(text: string): number {
  return [...text].length;
}
