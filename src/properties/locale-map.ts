/** Texts by language: their schema, and the cut of a document to some languages. */

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
  .register(z.globalRegistry, {
    id: 'LocaleMap',
    description: 'A text by language. A language without text is absent; the object may be empty.',
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

/**
 * Returns a document, which is JSON text that fits the schema, with the chosen languages of each text. A language that
 * a text lacks is absent. `undefined` chooses all languages.
 */
export function inLanguages(
  schema: z.ZodObject,
  document: string,
  locale: readonly string[] | undefined,
): string {
  return locale === undefined
    ? document
    : JSON.stringify(cutTexts(schema, JSON.parse(document), locale));
}

/** Cuts each text of a value to the chosen languages, at any depth. The schema tells where the texts are. */
function cutTexts(schema: z.core.$ZodType, value: unknown, locale: readonly string[]): unknown {
  if (schema instanceof z.ZodNullable) {
    return value === null ? null : cutTexts(schema.unwrap(), value, locale);
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((entry: unknown) => cutTexts(schema.element, entry, locale));
  }
  if (schema instanceof z.ZodObject && typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (isLocaleMap(schema)) {
      return Object.fromEntries(entries.filter(([language]) => locale.includes(language)));
    }
    return Object.fromEntries(
      entries.map(([name, each]) => {
        const field: z.core.$ZodType | undefined = schema.shape[name];
        return [name, field ? cutTexts(field, each, locale) : each];
      }),
    );
  }
  return value;
}

function isLocaleMap({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).join() === LOCALES.join();
}
