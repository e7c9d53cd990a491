/** Defines a site's languages, and its labels in each language. */

/**
 * The languages of the site. A text that is not available in the visitor's language is shown in the
 * first of these languages in which it is available.
 */
export const LANGUAGES = ['en', 'es', 'fr'] as const;
export type Language = (typeof LANGUAGES)[number];
/** A translated text. Translations can be missing. */
export type Text = { readonly [L in Language]?: string | undefined };

/** The currency of all prices. The feed does not contain it. */
export const CURRENCY = 'EUR';

export const LANGUAGE_NAMES = { en: 'English', es: 'Español', fr: 'Français' };
/** Maps a language to its value for `og:locale`. */
export const LOCALES = { en: 'en_GB', es: 'es_ES', fr: 'fr_FR' };

export const LABELS = {
  listings: { en: 'Our homes', es: 'Nuestras casas', fr: 'Nos maisons' },
  noPage: { en: 'No such page', es: 'Esta página no existe', fr: 'Cette page n’existe pas' },
  from: { en: 'From', es: 'Desde', fr: 'À partir de' },
  share: { en: 'share of', es: 'participación de', fr: 'part de' },
  earlyAccess: { en: 'Early access', es: 'Acceso anticipado', fr: 'Accès anticipé' },
  features: { en: 'What sets it apart', es: 'Lo que la distingue', fr: 'Ce qui la distingue' },
  amenities: { en: 'Amenities', es: 'Servicios', fr: 'Équipements' },
  where: { en: 'Where it is', es: 'Dónde está', fr: 'Où elle se trouve' },
  map: { en: 'See it on a map', es: 'Ver en un mapa', fr: 'Voir sur une carte' },
  video: { en: 'Watch the video', es: 'Ver el vídeo', fr: 'Voir la vidéo' },
  analysis: {
    en: 'Financial analysis',
    es: 'Análisis financiero',
    fr: 'Analyse financière',
  },
  neighbours: {
    en: 'More homes in the same place',
    es: 'Más casas en el mismo lugar',
    fr: 'D’autres maisons au même endroit',
  },
};

/**
 * Labels for statuses. A status that is not listed here has no label, because the feed can
 * introduce new statuses and types.
 */
export const STATUSES: Readonly<Record<string, Text>> = {
  coming_soon: { en: 'Coming soon', es: 'Próximamente', fr: 'Bientôt' },
  sold_out: { en: 'Sold out', es: 'Agotado', fr: 'Épuisé' },
};
export const TYPES: Readonly<Record<string, Text>> = {
  beach: { en: 'Beach', es: 'Playa', fr: 'Plage' },
  ski: { en: 'Ski', es: 'Esquí', fr: 'Ski' },
};

type Nouns = Readonly<Record<Language, readonly [singular: string, plural: string]>>;

/** Maps a numeric field to its noun in the singular and plural. */
export const NOUN_FORMS = {
  bedrooms: {
    en: ['bedroom', 'bedrooms'],
    es: ['dormitorio', 'dormitorios'],
    fr: ['chambre', 'chambres'],
  },
  beds: { en: ['bed', 'beds'], es: ['cama', 'camas'], fr: ['lit', 'lits'] },
  bathrooms: {
    en: ['bathroom', 'bathrooms'],
    es: ['baño', 'baños'],
    fr: ['salle de bains', 'salles de bains'],
  },
  bathtubs: {
    en: ['bathtub', 'bathtubs'],
    es: ['bañera', 'bañeras'],
    fr: ['baignoire', 'baignoires'],
  },
  capacity: {
    en: ['guest', 'guests'],
    es: ['huésped', 'huéspedes'],
    fr: ['personne', 'personnes'],
  },
  size: { en: ['m²', 'm²'], es: ['m²', 'm²'], fr: ['m²', 'm²'] },
  weeks_per_year: {
    en: ['week a year', 'weeks a year'],
    es: ['semana al año', 'semanas al año'],
    fr: ['semaine par an', 'semaines par an'],
  },
} satisfies Record<string, Nouns>;
export type CountedField = keyof typeof NOUN_FORMS;
