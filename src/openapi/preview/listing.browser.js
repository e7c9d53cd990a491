// @ts-check
/** The page of one listing, with each missing part marked at its place. */

import { badgesOf, countsOf, noteOf, placeOf, titleOf } from './card.browser.js';
import { element } from './element.browser.js';
import { languageOf, markOf, missingOf, photosOf, photosWithoutAlt } from './missing.browser.js';
import { emptyPicture, pictureOf } from './picture.browser.js';
import { LANGUAGES, localized, price, word } from './words.browser.js';

/** @typedef {import('./missing.browser.js').Kind} Kind */
/** @typedef {import('./missing.browser.js').Listing} Listing */
/** @typedef {import('./words.browser.js').CountName} CountName */
/** @typedef {import('./words.browser.js').Language} Language */
/** @typedef {import('./words.browser.js').LocaleMap} LocaleMap */
/** @typedef {import('./words.browser.js').Word} Word */
/** @typedef {import('./element.browser.js').Child} Child */

const COUNTS = /** @satisfies {CountName[]} */ ([
  'bedrooms',
  'beds',
  'bathrooms',
  'bathtubs',
  'capacity',
  'size',
  'weeks_per_year',
]);

/**
 * Makes the page of a listing.
 * @param {Listing} listing
 * @param {Language} language
 */
export function listingNodes(listing, language) {
  const title = titleOf(listing, language);
  const [hero, ...photos] = heroFirst(listing);
  return [
    element(
      'header',
      { class: 'head' },
      badgesOf(listing, language),
      element(
        'h1',
        { tabindex: -1, lang: title.language, class: title.note && 'fallback' },
        title.text,
        noteOf(title.note),
      ),
      element(
        'p',
        { class: 'where', lang: language },
        [placeOf(listing, language), listing.type && word(listing.type, language)]
          .filter(Boolean)
          .join(' · '),
      ),
      element(
        'p',
        { class: 'keys' },
        [listing.name, listing.hid, listing.slug].filter(Boolean).join(' · '),
      ),
    ),
    hero === undefined
      ? element('div', { class: 'hero' }, emptyPicture('No photo'))
      : element('div', { class: 'hero' }, figureOf(hero, listing, language, true)),
    missingSection(listing),
    element(
      'div',
      { class: 'columns' },
      element(
        'div',
        {},
        aboutSection(listing, language),
        listSection('features', listing.unique_features, language, ({ icon_slug, label }) => [
          labelOf(label, icon_slug, language),
          element('code', {}, icon_slug),
        ]),
        listSection('amenities', listing.amenities, language, ({ slug, label }) => [
          labelOf(label, slug, language),
        ]),
      ),
      element(
        'div',
        { class: 'side' },
        factsSection(listing, language),
        placeSection(listing, language),
      ),
    ),
    photos.length > 0 &&
      section('photos', language, [
        element(
          'ul',
          { class: 'photos' },
          photos.map((photo) => element('li', {}, figureOf(photo, listing, language, false))),
        ),
      ]),
  ];
}

/**
 * Returns the photos, the hero first.
 * @param {Listing} listing
 */
function heroFirst(listing) {
  const photos = photosOf(listing);
  const hero = photos.find(({ url }) => url === listing.hero_image?.url);
  return hero === undefined ? photos : [hero, ...photos.filter((photo) => photo !== hero)];
}

/**
 * @param {ReturnType<typeof photosOf>[number]} photo
 * @param {Listing} listing
 * @param {Language} language
 * @param {boolean} isFirst
 */
function figureOf(photo, { type }, language, isFirst) {
  const { alt, section: name } = photo;
  return element(
    'figure',
    {},
    pictureOf(photo, { language, scenery: type, isFirst, isCaptioned: true }),
    element(
      'figcaption',
      {},
      name !== undefined &&
        element('span', { class: 'section', lang: language }, word(name, language)),
      alt[language] === undefined
        ? mark(`No ${LANGUAGES[language]} alt text`)
        : element('span', { lang: language }, alt[language]),
    ),
  );
}

/** @param {Listing} listing */
function missingSection(listing) {
  const kinds = missingOf(listing);
  if (kinds.length === 0) {
    return element('p', { class: 'complete' }, 'Nothing is missing in this listing.');
  }
  return element(
    'section',
    { class: 'lacks', 'aria-labelledby': 'lacks' },
    element('h2', { id: 'lacks' }, 'Missing in this listing'),
    element(
      'ul',
      { class: 'marks' },
      kinds.map((kind) => element('li', {}, listingMarkOf(kind, listing))),
    ),
  );
}

/**
 * @param {Kind} kind
 * @param {Listing} listing
 */
function listingMarkOf(kind, listing) {
  const language = languageOf(kind);
  if (!kind.startsWith('alt.') || language === undefined) return markOf(kind);
  const count = photosWithoutAlt(listing, language);
  const of = photosOf(listing).length;
  return `No ${LANGUAGES[language]} alt text: ${count} of ${of} ${of === 1 ? 'photo' : 'photos'}`;
}

/**
 * @param {Listing} listing
 * @param {Language} language
 */
function aboutSection({ description }, language) {
  const found = localized(description, language);
  if (found === undefined) return section('about', language, [mark('No description')]);
  return section('about', language, [
    found.isFallback &&
      mark(`No ${LANGUAGES[language]} description: shown in ${LANGUAGES[found.language]}`),
    element(
      'div',
      { class: found.isFallback && 'fallback', lang: found.language },
      paragraphsOf(found.text),
    ),
  ]);
}

/** A blank line separates paragraphs, which may have line breaks. @param {string} text */
function paragraphsOf(text) {
  return text.split('\n\n').map((paragraph) => element('p', { class: 'lines' }, paragraph));
}

/**
 * @template Item
 * @param {Word} name
 * @param {readonly Item[]} items
 * @param {Language} language
 * @param {(item: Item) => Child[]} childrenOf
 */
function listSection(name, items, language, childrenOf) {
  if (items.length === 0) return undefined;
  return section(name, language, [
    element(
      'ul',
      { class: name },
      items.map((item) => element('li', {}, childrenOf(item))),
    ),
  ]);
}

/**
 * @param {Listing} listing
 * @param {Language} language
 */
function factsSection(listing, language) {
  const facts = countsOf(listing, COUNTS, language);
  return section('facts', language, [
    element('p', { class: 'price', lang: language }, price(listing, language) || mark('No price')),
    facts.length > 0 &&
      element(
        'ul',
        { lang: language },
        facts.map((fact) => element('li', {}, fact)),
      ),
    element(
      'ul',
      { class: 'links' },
      linkItem('Its page on the site', listing.url),
      linkItem('Video', listing.video_url),
      linkItem('Financial analysis', listing.financial_analysis_url),
    ),
  ]);
}

/**
 * @param {Listing} listing
 * @param {Language} language
 */
function placeSection({ address, city, location, location_text, latitude, longitude }, language) {
  const about = localized(location_text, language);
  const hasPlace = latitude !== null && longitude !== null;
  const degrees = (/** @type {number} */ value) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: 4 }).format(value);
  return section('place', language, [
    element('p', {}, [address, city].filter(Boolean).join(', ')),
    location === null
      ? mark('No location')
      : element(
          'p',
          { class: 'region' },
          labelOf(location.name, location.slug ?? location.id, language),
        ),
    about &&
      element(
        'p',
        { lang: about.language },
        about.text,
        noteOf(about.isFallback ? `in ${LANGUAGES[about.language]}` : undefined),
      ),
    hasPlace &&
      element(
        'p',
        {},
        element(
          'a',
          {
            href: `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=14/${latitude}/${longitude}`,
            rel: 'noreferrer',
          },
          `On a map: ${degrees(latitude)}, ${degrees(longitude)}`,
        ),
      ),
  ]);
}

/**
 * @param {string} text
 * @param {string | null} url
 */
function linkItem(text, url) {
  if (url === null) return undefined;
  return element(
    'li',
    {},
    element('a', { href: url, rel: 'noreferrer' }, text),
    element('span', { class: 'address' }, url),
  );
}

/**
 * Makes a label in the language, else in another language, else its key. A note names the replacement.
 * @param {LocaleMap} map
 * @param {string} key
 * @param {Language} language
 */
function labelOf(map, key, language) {
  const found = localized(map, language);
  if (found === undefined) return element('span', { class: 'fallback' }, key, noteOf('no label'));
  const note = found.isFallback ? `in ${LANGUAGES[found.language]}` : undefined;
  return element(
    'span',
    { lang: found.language, class: note && 'fallback' },
    found.text,
    noteOf(note),
  );
}

/** @param {string} text */
function mark(text) {
  return element('span', { class: 'mark' }, text);
}

/**
 * @param {Word} name
 * @param {Language} language
 * @param {Child[]} children
 */
function section(name, language, children) {
  const id = `section-${name}`;
  return element(
    'section',
    { class: `part part-${name}`, 'aria-labelledby': id },
    element('h2', { id, lang: language }, word(name, language)),
    children,
  );
}
