// @ts-check
/** A listing's card, and the parts of a card that the listing's page shows too. */

import { element } from './element.browser.js';
import { languageOf, markOf } from './missing.browser.js';
import { emptyPicture, pictureOf } from './picture.browser.js';
import { counted, LANGUAGES, localized, price, STATUSES, word } from './words.browser.js';

/** @typedef {import('./missing.browser.js').Kind} Kind */
/** @typedef {import('./missing.browser.js').Listing} Listing */
/** @typedef {import('./reading.browser.js').Summary} Summary */
/** @typedef {import('./words.browser.js').CountName} CountName */
/** @typedef {import('./words.browser.js').Language} Language */
/** @typedef {import('./words.browser.js').LocaleMap} LocaleMap */

/** The counts that a card shows. */
const CARD_COUNTS = /** @satisfies {CountName[]} */ (['bedrooms', 'bathrooms', 'capacity', 'size']);

/**
 * Makes the card of a listing. Its marks name what the listing lacks: in the language, in all languages, and of the
 * kind `filtered`.
 * @param {Summary} listing
 * @param {Language} language
 * @param {Kind | ''} filtered
 */
export function cardOf(listing, language, filtered) {
  const { slug, hero_image, type, missing } = listing;
  const kinds = [...missing].filter((kind) => {
    const ofKind = languageOf(kind);
    return ofKind === undefined || ofKind === language || kind === filtered;
  });
  const title = titleOf(listing, language);
  const link = element('a', { href: listingPath(slug, language), 'data-slug': slug }, title.text);
  if (title.language) link.lang = title.language;
  return element(
    'li',
    { class: 'card', 'data-status': listing.status },
    element(
      'article',
      {},
      hero_image === null
        ? emptyPicture(missing.has('photo') ? 'No photo' : 'No cover photo')
        : pictureOf(hero_image, { language, scenery: type }),
      badgesOf(listing, language),
      element(
        'div',
        { class: 'body' },
        element('h3', { class: title.note && 'fallback' }, link, noteOf(title.note)),
        element('p', { class: 'where', lang: language }, placeOf(listing, language)),
        element(
          'ul',
          { class: 'facts', lang: language },
          [type && word(type, language), ...countsOf(listing, CARD_COUNTS, language)].map(
            (fact) => fact && element('li', {}, fact),
          ),
        ),
        element('p', { class: 'price', lang: language }, price(listing, language)),
        kinds.length > 0 &&
          element(
            'ul',
            { class: 'marks', 'aria-label': 'Missing' },
            kinds.map((kind) => element('li', {}, cardMarkOf(kind, listing))),
          ),
      ),
    ),
  );
}

/**
 * Returns the title in the language, else the title in another language, else the internal name. `note` names the
 * other language, or says that this is the internal name.
 * @param {{ title: LocaleMap, name: string }} listing
 * @param {Language} language
 * @returns {{ text: string, language?: Language, note?: string }}
 */
export function titleOf({ title, name }, language) {
  const found = localized(title, language);
  if (found === undefined) return { text: name, note: 'internal name' };
  if (!found.isFallback) return { text: found.text, language };
  return { text: found.text, language: found.language, note: `in ${LANGUAGES[found.language]}` };
}

/**
 * Makes the note after a text that replaces a missing text, with a space before the note.
 * @param {string | undefined} note
 */
export function noteOf(note) {
  return note === undefined ? [] : [' ', element('span', { class: 'note' }, note)];
}

/**
 * Makes the badges of a listing: its status, and early access.
 * @param {Pick<Summary, 'status' | 'is_early_access'>} listing
 * @param {Language} language
 */
export function badgesOf({ status, is_early_access }, language) {
  return element(
    'p',
    { class: 'badges', lang: language },
    element('span', { class: `badge ${status}`, title: STATUSES[status] }, word(status, language)),
    is_early_access && element('span', { class: 'badge early' }, word('early', language)),
  );
}

/**
 * Writes where a listing is: Deià, Mallorca.
 * @param {Pick<Summary, 'city' | 'location'>} listing
 * @param {Language} language
 */
export function placeOf({ city, location }, language) {
  const name = location && (localized(location.name, language)?.text ?? location.slug);
  return [...new Set([city, name])].filter(Boolean).join(', ');
}

/**
 * Writes the counts of a listing that are known: 3 bedrooms.
 * @template {CountName} Name
 * @param {Readonly<Record<Name, number | null>>} listing
 * @param {readonly Name[]} names
 * @param {Language} language
 */
export function countsOf(listing, names, language) {
  return names.flatMap((name) => {
    const value = listing[name];
    return value === null ? [] : [counted(name, value, language)];
  });
}

/**
 * Returns the address of a listing's page in the preview.
 * @param {string} slug
 * @param {Language} language
 */
export function listingPath(slug, language) {
  return `/preview/listings/${encodeURIComponent(slug)}?lang=${language}`;
}

/**
 * @param {Kind} kind
 * @param {Summary} listing
 */
function cardMarkOf(kind, { withoutAlt }) {
  const language = languageOf(kind);
  if (!kind.startsWith('alt.') || language === undefined) return markOf(kind);
  const count = withoutAlt[language];
  return `${count} ${count === 1 ? 'photo' : 'photos'} without ${LANGUAGES[language]} alt text`;
}
