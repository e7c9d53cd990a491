/** Text by language (specification: Locale map). */

import * as z from 'zod';
import { text } from './text.ts';

const LOCALES = ['en', 'es', 'fr'] as const;
type Locale = (typeof LOCALES)[number];

/** An object with a text for some of the languages; it can be empty. */
export const localeMap = z
  .strictObject({
    en: text.exactOptional(),
    es: text.exactOptional(),
    fr: text.exactOptional(),
  })
  .meta({
    id: 'LocaleMap',
    description: 'A text in each language that has one; it can be empty.',
    examples: [{ en: 'Sea view', es: 'Vistas al mar', fr: 'Vue sur la mer' }],
  });

export type LocaleMap = z.infer<typeof localeMap>;

/** Applies `change` to each language that is there; what comes out blank is no text and is left out. */
export function mapLocales<T>(
  map: Readonly<Partial<Record<Locale, T>>>,
  change: (value: T) => string,
): LocaleMap {
  const entries = LOCALES.flatMap((locale) => {
    const value = map[locale];
    const changed = value === undefined ? '' : change(value);
    return changed.trim() === '' ? [] : [[locale, changed]];
  });
  return Object.fromEntries(entries);
}
