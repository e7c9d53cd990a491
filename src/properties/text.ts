/** The texts and links of a listing, and their bounds, which keep a usual row far below D1's 2 MB. */

import * as z from 'zod';
import { isUuid } from '../http/uuid.ts';

/** Counts Unicode code points, as JSON Schema does. */
export const MAX_TEXT_CHARACTERS = 100_000;
export const MAX_LIST_ENTRIES = 1_000;
const MAX_SLUG_CHARACTERS = 200;

/**
 * Text without NUL, at which SQLite's own functions cut a text, and without half of a surrogate pair, which UTF-8
 * cannot write: many clients could not read a page with one in it.
 */
export const text = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[^\0]*$/, 'must not contain NUL (U+0000)')
  .refine((value) => value.isWellFormed(), { error: 'must not contain half of a surrogate pair' });

/** An absolute http(s) address. Sites put it into links, so it is nothing that a browser would run. */
export const httpUrl = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\0]*$/, {
    error: 'must be an absolute http or https URL',
    abort: true,
  })
  .refine((value) => URL.canParse(value) && value.isWellFormed(), {
    error: 'must be an absolute http or https URL',
  })
  .register(z.globalRegistry, { examples: ['https://www.example.com/casa-marea'] });

const SLUG_FORM = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
const SLUG_MESSAGE =
  'must be lower-case letters and digits in words joined by single hyphens or underscores';

/** A public key in words. It is no UUID, because a path may name a listing by either. */
export const slug = z
  .string()
  .max(MAX_SLUG_CHARACTERS)
  .regex(SLUG_FORM, SLUG_MESSAGE)
  .refine((value) => !isUuid(value), { error: 'must not be a UUID' })
  .register(z.globalRegistry, { examples: ['casa-marea'] });

/** Reports whether any listing can have this slug. */
export function isSlug(value: string): boolean {
  return value.length <= MAX_SLUG_CHARACTERS && SLUG_FORM.test(value);
}

/** A number to sort by: 32 bits, negative ones too. */
export const order = z.int32();
