/** The bounds of what a listing may hold. They keep a row far below D1's 2 MB a value in practice. */

import * as z from 'zod';

export const MAX_TEXT_CHARACTERS = 100_000;
export const MAX_LIST_ENTRIES = 1_000;
const MAX_SLUG_CHARACTERS = 200;

/** Any text but one with a NUL, which SQLite's own functions cut it at. */
export const text = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .refine((value) => !value.includes('\0'), { error: 'must not contain NUL (U+0000)' });

/** An absolute http(s) address: sites put it into links, so nothing that a browser would run. */
export const httpUrl = text.refine((value) => /^https?:\/\//i.test(value) && URL.canParse(value), {
  error: 'must be an absolute http or https URL',
});

/** Lower-case words of letters and digits, joined by single hyphens or underscores. Never a UUID: those are ids. */
export const slug = z
  .string()
  .max(MAX_SLUG_CHARACTERS)
  .regex(
    /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/,
    'must be lower-case letters and digits in words joined by single hyphens or underscores',
  )
  .refine((value) => !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value), {
    error: 'must not be a UUID',
  });

/** A place in a curatorial order: 32 bits, negative ones too. */
export const order = z.int32();
