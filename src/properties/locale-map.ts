/** Locale maps, which contain the translations of a text by language. */

export const LOCALES = ['en', 'es', 'fr'] as const;

export type Localized<T> = Partial<Record<(typeof LOCALES)[number], T>>;

export type LocaleMap = Localized<string>;

/** Whether a text has only spaces and invisible format characters, such as U+200B. */
export function isBlank(text: string): boolean {
  return text.replaceAll(/\p{Cf}/gu, '').trim() === '';
}

/** Converts the value of each language to text. Leaves out languages whose text is blank. */
export function mapLocales<T>(
  map: Readonly<Localized<T>>,
  toText: (value: T) => string,
): LocaleMap {
  const entries = LOCALES.flatMap((locale) => {
    const value = map[locale];
    const text = value === undefined ? '' : toText(value);
    return isBlank(text) ? [] : [[locale, text]];
  });
  return Object.fromEntries(entries);
}

/**
 * Reduces every locale map in a JSON document to the chosen languages. Removes fields by their names,
 * because only locale maps have fields that are named after languages.
 *
 * @example pickLocales('{"title":{"en":"Sea","fr":"Mer"}}', ['fr']) // '{"title":{"fr":"Mer"}}'
 */
export function pickLocales(document: string, locale: readonly string[]): string {
  const others: readonly string[] = LOCALES.filter((language) => !locale.includes(language));
  return JSON.stringify(JSON.parse(document), (name, value: unknown) =>
    others.includes(name) ? undefined : value,
  );
}
