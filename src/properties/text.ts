/** The bounds of what a listing may hold. They keep a row far below D1's 2 MB a value in practice. */

import * as z from 'zod';
import { isUuid } from '../http/uuid.ts';

/** In characters (Unicode code points), as JSON Schema counts them. */
export const MAX_TEXT_CHARACTERS = 100_000;
export const MAX_LIST_ENTRIES = 1_000;
const MAX_SLUG_CHARACTERS = 200;

/**
 * Any text but one with a NUL, which SQLite's own functions cut it at, or with half of a surrogate
 * pair, which UTF-8 cannot write: many a client cannot read a page with one in it.
 */
export const text = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[^\0]*$/, 'must not contain NUL (U+0000)')
  .refine((value) => value.isWellFormed(), { error: 'must not contain half of a surrogate pair' });

/** An absolute http(s) address: sites put it into links, so nothing that a browser would run. */
export const httpUrl = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\0]*$/, {
    error: 'must be an absolute http or https URL',
    abort: true,
  })
  .refine((value) => URL.canParse(value) && value.isWellFormed(), {
    error: 'must be an absolute http or https URL',
  });

const SLUG_FORM = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
const SLUG_MESSAGE =
  'must be lower-case letters and digits in words joined by single hyphens or underscores';

/** Lower-case words of letters and digits, joined by single hyphens or underscores. Never a UUID: those are ids. */
export const slug = z
  .string()
  .max(MAX_SLUG_CHARACTERS)
  .regex(SLUG_FORM, SLUG_MESSAGE)
  .refine((value) => !isUuid(value), { error: 'must not be a UUID' });

/** Whether any listing can have this slug. */
export function isSlug(value: string): boolean {
  return value.length <= MAX_SLUG_CHARACTERS && SLUG_FORM.test(value);
}

/** A place in a curatorial order: 32 bits, negative ones too. */
export const order = z.int32();
