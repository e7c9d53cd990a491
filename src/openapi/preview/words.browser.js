// @ts-check
/** The words and the number formats that a site shows around a listing, in its three languages. */

/** @typedef {import('../../properties/resource.ts').Property['title']} LocaleMap */
/** @typedef {keyof LocaleMap} Language */
/** @typedef {'listed' | 'coming_soon' | 'sold_out' | 'hidden'} Status */

/** The languages, each with the name that the editor reads. */
export const LANGUAGES = /** @type {const} */ ({ en: 'English', es: 'Spanish', fr: 'French' });

export const LANGUAGE_CODES = /** @type {readonly Language[]} */ (Object.keys(LANGUAGES));

/** The statuses in the editor's words. */
export const STATUSES = /** @type {const} */ ({
  listed: 'Listed',
  coming_soon: 'Coming soon',
  sold_out: 'Sold out',
  hidden: 'Hidden',
});

/**
 * A word that follows a number: its singular and its plural.
 * @typedef {readonly [one: string, others: string]} Counted
 */

const COUNTED = /** @satisfies {Record<Language, Record<string, Counted>>} */ ({
  en: {
    bedrooms: ['bedroom', 'bedrooms'],
    beds: ['bed', 'beds'],
    bathrooms: ['bathroom', 'bathrooms'],
    bathtubs: ['bathtub', 'bathtubs'],
    capacity: ['guest', 'guests'],
    size: ['m²', 'm²'],
    weeks_per_year: ['week per year', 'weeks per year'],
  },
  es: {
    bedrooms: ['dormitorio', 'dormitorios'],
    beds: ['cama', 'camas'],
    bathrooms: ['baño', 'baños'],
    bathtubs: ['bañera', 'bañeras'],
    capacity: ['huésped', 'huéspedes'],
    size: ['m²', 'm²'],
    weeks_per_year: ['semana al año', 'semanas al año'],
  },
  fr: {
    bedrooms: ['chambre', 'chambres'],
    beds: ['lit', 'lits'],
    bathrooms: ['salle de bain', 'salles de bain'],
    bathtubs: ['baignoire', 'baignoires'],
    capacity: ['personne', 'personnes'],
    size: ['m²', 'm²'],
    weeks_per_year: ['semaine par an', 'semaines par an'],
  },
});

/** @typedef {keyof typeof COUNTED['en']} CountName */

const WORDS = /** @satisfies {Record<Language, Record<string, string>>} */ ({
  en: {
    listed: 'Listed',
    coming_soon: 'Coming soon',
    sold_out: 'Sold out',
    hidden: 'Hidden',
    beach: 'Beach',
    ski: 'Ski',
    early: 'Early access',
    from: 'from',
    share: 'share',
    about: 'About this home',
    facts: 'At a glance',
    features: 'What sets it apart',
    amenities: 'Amenities',
    photos: 'Photos',
    place: 'Where it is',
    hero: 'Hero',
    gallery: 'Gallery',
    studio: 'Studio',
    location: 'Location',
    what_to_do: 'What to do',
    other: 'Other',
  },
  es: {
    listed: 'Publicada',
    coming_soon: 'Próximamente',
    sold_out: 'Vendida',
    hidden: 'Oculta',
    beach: 'Playa',
    ski: 'Esquí',
    early: 'Acceso anticipado',
    from: 'desde',
    share: 'fracción',
    about: 'Sobre la casa',
    facts: 'De un vistazo',
    features: 'Lo que la distingue',
    amenities: 'Equipamiento',
    photos: 'Fotos',
    place: 'Dónde está',
    hero: 'Portada',
    gallery: 'Galería',
    studio: 'Estudio',
    location: 'Entorno',
    what_to_do: 'Qué hacer',
    other: 'Otras',
  },
  fr: {
    listed: 'En ligne',
    coming_soon: 'Bientôt',
    sold_out: 'Vendue',
    hidden: 'Masquée',
    beach: 'Plage',
    ski: 'Ski',
    early: 'Accès anticipé',
    from: 'à partir de',
    share: 'part',
    about: 'La maison',
    facts: 'En bref',
    features: 'Ce qui la distingue',
    amenities: 'Équipements',
    photos: 'Photos',
    place: 'Situation',
    hero: 'Couverture',
    gallery: 'Galerie',
    studio: 'Studio',
    location: 'Environs',
    what_to_do: 'À faire',
    other: 'Autres',
  },
});

/** @typedef {keyof typeof WORDS['en']} Word */

/**
 * Returns a word of the site.
 * @param {Word} name
 * @param {Language} language
 */
export function word(name, language) {
  return WORDS[language][name];
}

/**
 * Writes a number as the language does: 118,000 or 118.000 or 118 000.
 * @param {number} value
 * @param {Language} language
 */
export function number(value, language) {
  // By default Spanish does not group four digits.
  return new Intl.NumberFormat(language, { useGrouping: 'always' }).format(value);
}

/**
 * Writes a number and its word: 3 bedrooms.
 * @param {CountName} name
 * @param {number} value
 * @param {Language} language
 */
export function counted(name, value, language) {
  const [one, others] = COUNTED[language][name];
  const isOne = new Intl.PluralRules(language).select(value) === 'one';
  return `${number(value, language)} ${isOne ? one : others}`;
}

/**
 * Writes the price of the smallest share: from 118,000 · share 1/8. The feed names no currency.
 * @param {{ price_from: number | null, fraction_from: string | null }} listing
 * @param {Language} language
 */
export function price({ price_from, fraction_from }, language) {
  const parts = [
    price_from !== null && `${word('from', language)} ${number(price_from, language)}`,
    fraction_from !== null && `${word('share', language)} ${fraction_from}`,
  ];
  return parts.filter((part) => part !== false).join(' · ');
}

/**
 * Returns the text in the language, else in another language; undefined when the map is empty.
 * @param {LocaleMap} map
 * @param {Language} language
 * @returns {{ text: string, language: Language, isFallback: boolean } | undefined}
 */
export function localized(map, language) {
  for (const each of [language, ...LANGUAGE_CODES]) {
    const text = map[each];
    if (text !== undefined) return { text, language: each, isFallback: each !== language };
  }
  return undefined;
}
