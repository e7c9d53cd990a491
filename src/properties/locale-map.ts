/** Text by language. */

import * as z from 'zod';
import { text } from './text.ts';

export const LOCALES = ['en', 'es', 'fr'] as const;

/** A value in some of the languages. */
export type Localized<T> = Partial<Record<(typeof LOCALES)[number], T>>;

export type LocaleMap = Localized<string>;

/** Returns the schema of an object with a value in some of the languages. */
export function localized<S extends z.ZodType>(schema: S) {
  const value = schema.exactOptional();
  return z.strictObject({ en: value, es: value, fr: value });
}

/** A text in some of the languages. A blank text is no text: parsing drops it. */
export const localeMap = localized(text)
  .overwrite((map) => mapLocales(map, (value) => value))
  .meta({
    id: 'LocaleMap',
    description: 'A text in each language that has one; it can be empty.',
    examples: [{ en: 'Sea view', es: 'Vistas al mar', fr: 'Vue sur la mer' }],
  });

/** Makes a text of the value in each language, and leaves out the languages whose text is blank. */
export function mapLocales<T>(
  map: Readonly<Localized<T>>,
  textOf: (value: T) => string,
): LocaleMap {
  const entries = LOCALES.flatMap((locale) => {
    const value = map[locale];
    const made = value === undefined ? '' : textOf(value);
    return made.trim() === '' ? [] : [[locale, made]];
  });
  return Object.fromEntries(entries);
}
