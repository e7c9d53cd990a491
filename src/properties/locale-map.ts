/** Texts by language, and the cut of a document to some languages. */

export const LOCALES = ['en', 'es', 'fr'] as const;

export type Localized<T> = Partial<Record<(typeof LOCALES)[number], T>>;

export type LocaleMap = Localized<string>;

/** A text of spaces and format characters alone, e.g. U+200B, shows nothing. */
export function isBlank(text: string): boolean {
  return text.replaceAll(/\p{Cf}/gu, '').trim() === '';
}

/** Leaves out blank texts. */
export function mapLocales<T>(
  map: Readonly<Localized<T>>,
  toText: (value: T) => string,
): LocaleMap {
  const entries = LOCALES.flatMap((locale) => {
    const value = map[locale];
    const made = value === undefined ? '' : toText(value);
    return isBlank(made) ? [] : [[locale, made]];
  });
  return Object.fromEntries(entries);
}

/**
 * Cuts each text of a JSON document to the chosen languages, as far as it has them. Only the texts of
 * a document have languages as names.
 *
 * @example pickLocales('{"title":{"en":"Sea","fr":"Mer"}}', ['fr']) // '{"title":{"fr":"Mer"}}'
 */
export function pickLocales(document: string, locale: readonly string[]): string {
  const others: readonly string[] = LOCALES.filter((language) => !locale.includes(language));
  return JSON.stringify(JSON.parse(document), (name, value: unknown) =>
    others.includes(name) ? undefined : value,
  );
}
