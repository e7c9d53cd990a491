// @ts-check
/** The parts that a listing lacks before it is ready for visitors. */

import { LANGUAGE_CODES, LANGUAGES } from './words.browser.js';

/** @typedef {import('../../properties/resource.ts').Property} Property */
/** @typedef {import('./words.browser.js').Language} Language */
/** @typedef {import('./words.browser.js').LocaleMap} LocaleMap */
/** @typedef {Omit<Property, 'status'> & { status: import('./words.browser.js').Status }} Listing */

/** @typedef {'title' | 'description' | 'alt'} Text */
/** @typedef {'photo' | 'cover' | 'location' | 'price'} Thing */
/** @typedef {Thing | `${Text}.${Language}`} Kind */

/** The texts that a listing has in each language. */
export const TEXTS = /** @type {const} */ ({
  title: 'title',
  description: 'description',
  alt: 'alt text',
});

/** The parts that a listing has once, for all languages. */
export const THINGS = /** @type {const} */ ({
  photo: 'photo',
  cover: 'cover photo',
  location: 'location',
  price: 'price',
});

/** The kinds of parts that a listing may lack, in the order in which the preview shows them. */
export const KINDS = /** @type {readonly Kind[]} */ ([
  'photo',
  'cover',
  ...Object.keys(TEXTS).flatMap((text) => LANGUAGE_CODES.map((code) => `${text}.${code}`)),
  'location',
  'price',
]);

/**
 * Returns the kinds that a listing lacks.
 * @param {Listing} listing
 * @returns {Kind[]}
 */
export function missingOf(listing) {
  const { gallery, hero_image, location, price_from } = listing;
  const hasPhoto = gallery.length > 0 || hero_image !== null;
  /** @type {Record<Thing, boolean>} */
  const has = {
    photo: hasPhoto,
    // A listing without any photo lacks a photo, and not a cover as well.
    cover: hero_image !== null || !hasPhoto,
    location: location !== null,
    price: price_from !== null,
  };
  return KINDS.filter((kind) => {
    const [name, language] = partsOf(kind);
    if (language === undefined) return !has[/** @type {Thing} */ (name)];
    if (name === 'alt') return photosWithoutAlt(listing, language) > 0;
    return listing[name === 'title' ? 'title' : 'description'][language] === undefined;
  });
}

/**
 * Counts the photos that have no alt text in a language.
 * @param {Listing} listing
 * @param {Language} language
 */
export function photosWithoutAlt(listing, language) {
  return photosOf(listing).filter(({ alt }) => alt[language] === undefined).length;
}

/**
 * Returns the photos that visitors see, each once. The selected hero may stand outside the gallery.
 * @param {Listing} listing
 * @returns {{ url: string, alt: LocaleMap, section?: Property['gallery'][number]['section'] }[]}
 */
export function photosOf({ gallery, hero_image }) {
  const isOutside = hero_image !== null && !gallery.some(({ url }) => url === hero_image.url);
  return isOutside ? [hero_image, ...gallery] : gallery;
}

/**
 * Writes the mark of a missing kind: No French title.
 * @param {Kind} kind
 */
export function markOf(kind) {
  return `No ${nameOf(kind)}`;
}

/**
 * Writes how many listings lack a kind: 12 listings without a French title.
 * @param {Kind} kind
 * @param {number} count
 */
export function sentenceOf(kind, count) {
  const name = kind.startsWith('alt.') ? `${nameOf(kind)} of a photo` : nameOf(kind);
  const article = /^[aeiou]/i.test(name) ? 'an' : 'a';
  return `${count.toLocaleString('en')} ${count === 1 ? 'listing' : 'listings'} without ${article} ${name}`;
}

/**
 * Reports whether a text of the page's address is a kind.
 * @param {string | null} text
 * @returns {text is Kind}
 */
export function isKind(text) {
  return KINDS.some((kind) => kind === text);
}

/**
 * Returns the language of a kind; undefined for a kind without a language.
 * @param {Kind} kind
 */
export function languageOf(kind) {
  return partsOf(kind)[1];
}

/** @param {Kind} kind */
function nameOf(kind) {
  const [name, language] = partsOf(kind);
  if (language === undefined) return THINGS[/** @type {Thing} */ (name)];
  return `${LANGUAGES[language]} ${TEXTS[/** @type {Text} */ (name)]}`;
}

/**
 * @param {Kind} kind
 * @returns {[name: string, language: Language | undefined]}
 */
function partsOf(kind) {
  const [name = '', language] = kind.split('.');
  return [name, LANGUAGE_CODES.find((code) => code === language)];
}
