/** The schemas of texts and links. Their bounds keep a usual row far below D1's 2 MB. */

import * as z from 'zod';
import { mapLocales } from './locale-map.ts';

/** Counts Unicode code points, as JSON Schema does. */
export const MAX_TEXT_CHARACTERS = 100_000;
export const MAX_LIST_ENTRIES = 1_000;

/** SQLite's functions cut a text at NUL, and UTF-8 cannot write half of a surrogate pair. */
export const text = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[^\0]*$/, 'must not contain NUL (U+0000)')
  .refine((value) => value.isWellFormed(), { error: 'must not contain half of a surrogate pair' });

/** Sites use it in links, so it must not be code that a browser would run. */
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

/** Makes the schema of an object with a value in some of the languages. */
export function localized<S extends z.ZodType>(schema: S) {
  const value = schema.exactOptional();
  return z.strictObject({ en: value, es: value, fr: value });
}

/** A text in some of the languages. A blank text is no text: parsing drops it. */
export const localeMap = localized(text)
  .overwrite((map) => mapLocales(map, (value) => value))
  .register(z.globalRegistry, {
    id: 'LocaleMap',
    description: 'A text by language. A language without text is absent; the object may be empty.',
    examples: [{ en: 'Sea view', es: 'Vistas al mar', fr: 'Vue sur la mer' }],
  });
