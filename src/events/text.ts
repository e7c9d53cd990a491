/** Names: of a kind of event, of an aggregate, of a request. Lengths are in Unicode code points, as in JSON Schema. */

import * as z from 'zod';

export const MAX_NAME_CHARACTERS = 255;

/** A text without NUL, in a form that every dialect of patterns reads. */
export const NAME_PATTERN = '^[^\\x00]*$';

/** 1 to 255 characters without NUL, because functions of SQLite cut a text at NUL. */
export const name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  .regex(new RegExp(NAME_PATTERN), 'must not contain NUL (U+0000)');
