/** The texts that events are found by: names of their kind and of what they concern. Lengths are in characters (Unicode code points), as JSON Schema counts them. */

import * as z from 'zod';

const MAX_NAME_CHARACTERS = 255;

/** 1 to 255 characters without NUL, which SQLite's own functions cut a text at. */
export const name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  .regex(/^[^\0]*$/, 'must not contain NUL (U+0000)');
