// @ts-check
/** The catalogue: cards with filters, and how many listings lack something. */

import { cardOf } from './card.browser.js';
import { append, element } from './element.browser.js';
import { KINDS, languageOf, sentenceOf, TEXTS, THINGS } from './missing.browser.js';
import { LANGUAGE_CODES, LANGUAGES, localized, STATUSES } from './words.browser.js';

/** @typedef {import('./missing.browser.js').Kind} Kind */
/** @typedef {import('./reading.browser.js').Catalogue} Catalogue */
/** @typedef {import('./reading.browser.js').Summary} Summary */
/** @typedef {import('./words.browser.js').Language} Language */

/**
 * The filters of the page's address. An empty text filters nothing.
 * @typedef {object} CatalogueFilters
 * @property {string} status
 * @property {string} type `beach`, `ski`, or `none` for a listing without a type
 * @property {string} location The id of a location.
 * @property {string} find
 * @property {Kind | ''} missing
 */

/** Cards that are shown at first, and added by each click of "Show more". */
const CARDS = 24;

/**
 * Makes the view of the catalogue. `onFilter` is called with the filters that the editor has chosen.
 * @param {(change: Partial<CatalogueFilters>) => void} onFilter
 */
export function createCatalogueView(onFilter) {
  const heading = element('h1', { tabindex: -1 }, 'Catalogue');
  const notice = element('p', { class: 'notice', hidden: true });
  const form = filterForm(onFilter);
  const missing = missingPanel((kind) => onFilter({ missing: kind }));
  const count = element('p', { class: 'count', role: 'status' });
  const progress = element('p', { class: 'progress' });
  const clear = element('button', { type: 'button', class: 'plain' }, 'Show all listings');
  const cards = element('ul', { class: 'cards' });
  const more = element('button', { type: 'button', class: 'more', hidden: true });
  clear.addEventListener('click', () => {
    onFilter({ status: '', type: '', location: '', find: '', missing: '' });
    form.element.querySelector('input')?.focus();
  });

  let limit = CARDS;
  /** The filters and the language of the cards that are shown. When they change, all cards are made anew. */
  let shown = '';
  /** @type {(() => void) | undefined} */
  let addCards;
  more.addEventListener('click', () => {
    const before = cards.childElementCount;
    limit += CARDS;
    addCards?.();
    // The button may be gone, and the editor has asked for the new cards.
    cards.children[before]?.querySelector('a')?.focus();
  });

  return {
    nodes: [
      heading,
      notice,
      form.element,
      missing.element,
      element(
        'section',
        { 'aria-label': 'Listings' },
        element(
          'div',
          { class: 'result' },
          element('h2', { class: 'unseen' }, 'Listings'),
          count,
          clear,
          progress,
        ),
        cards,
        more,
      ),
    ],
    heading,
    /** Returns the link of a card, which gets the focus when the editor comes back from its listing. @param {string} slug */
    linkOf: (slug) => cards.querySelector(`a[data-slug="${CSS.escape(slug)}"]`),
    /**
     * Shows the part of the catalogue that has been read.
     * @param {Catalogue} catalogue
     * @param {CatalogueFilters} filters
     * @param {Language} language
     */
    update(catalogue, filters, language) {
      const chosen = catalogue.listings.filter((listing) => isChosen(listing, filters));
      const matching = chosen.filter(
        ({ missing }) => !filters.missing || missing.has(filters.missing),
      );
      form.update(catalogue.listings, filters, language);
      missing.update(chosen, filters.missing);
      notice.hidden = catalogue.problem === undefined && !isEmpty(catalogue);
      notice.textContent =
        catalogue.problem ??
        'There is no listing yet. Load a file: npm run import-listings -- FILE';
      count.textContent = countOf(catalogue, matching, filters);
      progress.textContent = catalogue.pause ?? progressOf(catalogue);
      clear.hidden = Object.values(filters).every((value) => value === '');

      const name = JSON.stringify([filters, language]);
      if (name !== shown) {
        if (shown !== '') limit = CARDS;
        shown = name;
        cards.replaceChildren();
      }
      addCards = () => {
        const next = matching.slice(cards.childElementCount, limit);
        append(
          cards,
          next.map((listing) => cardOf(listing, language, filters.missing)),
        );
        const rest = matching.length - cards.childElementCount;
        more.hidden = rest <= 0;
        more.textContent = `Show ${Math.min(CARDS, rest)} more of ${rest.toLocaleString('en')}`;
      };
      addCards();
    },
  };
}

/** @param {Catalogue} catalogue */
function isEmpty({ isWhole, listings }) {
  return isWhole && listings.length === 0;
}

/**
 * @param {Summary} listing
 * @param {CatalogueFilters} filters
 */
function isChosen(listing, { status, type, location, find }) {
  if (status && listing.status !== status) return false;
  if (type && (listing.type ?? 'none') !== type) return false;
  if (location && listing.location?.id !== location) return false;
  if (!find) return true;
  const { name, slug, hid, city, title } = listing;
  const texts = [name, slug, hid ?? '', city ?? '', ...Object.values(title)];
  const sought = plain(find);
  return texts.some((text) => plain(text).includes(sought));
}

/** Leaves out case and accents: Deià is found by deia. @param {string} text */
function plain(text) {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
}

/**
 * @param {Catalogue} catalogue
 * @param {readonly Summary[]} matching
 * @param {CatalogueFilters} filters
 */
function countOf({ isWhole, problem }, { length }, { missing }) {
  if (!isWhole && problem === undefined) return 'Reading the catalogue …';
  if (missing) return sentenceOf(missing, length);
  return `${length.toLocaleString('en')} ${length === 1 ? 'listing' : 'listings'}`;
}

/** @param {Catalogue} catalogue */
function progressOf({ isWhole, listings }) {
  return isWhole || listings.length === 0
    ? ''
    : `${listings.length.toLocaleString('en')} listings so far`;
}

/** @param {(change: Partial<CatalogueFilters>) => void} onFilter */
function filterForm(onFilter) {
  const find = element('input', {
    type: 'search',
    name: 'find',
    autocomplete: 'off',
    placeholder: 'Title, name, city, reference',
  });
  const type = element(
    'select',
    { name: 'type' },
    element('option', { value: '' }, 'All types'),
    element('option', { value: 'beach' }, 'Beach'),
    element('option', { value: 'ski' }, 'Ski'),
    element('option', { value: 'none' }, 'Without a type'),
  );
  const location = element('select', { name: 'location' });
  const statuses = [['', 'All'], ...Object.entries(STATUSES)].map(([value, text]) => {
    const input = element('input', { type: 'radio', name: 'status', value });
    const count = element('span', { class: 'number' });
    return {
      value,
      input,
      count,
      label: element('label', { class: 'pill' }, input, `${text} `, count),
    };
  });
  const form = element(
    'form',
    { class: 'filters', role: 'search', 'aria-label': 'Filters' },
    element(
      'fieldset',
      { class: 'pills' },
      element('legend', {}, 'Status'),
      statuses.map(({ label }) => label),
    ),
    element('label', { class: 'field' }, 'Type', type),
    element('label', { class: 'field' }, 'Location', location),
    element('label', { class: 'field wide' }, 'Find', find),
  );
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', () => {
    const status = statuses.find(({ input }) => input.checked)?.value ?? '';
    onFilter({ status, type: type.value, location: location.value, find: find.value });
  });
  return {
    element: form,
    /**
     * @param {readonly Summary[]} listings
     * @param {CatalogueFilters} filters
     * @param {Language} language
     */
    update(listings, filters, language) {
      for (const { value, input, count } of statuses) {
        input.checked = value === filters.status;
        const { length } = value ? listings.filter(({ status }) => status === value) : listings;
        count.textContent = length.toLocaleString('en');
      }
      location.replaceChildren(
        element('option', { value: '' }, 'All locations'),
        ...locationOptions(listings, language),
      );
      type.value = filters.type;
      location.value = filters.location;
      if (find.value !== filters.find) find.value = filters.find;
    },
  };
}

/**
 * @param {readonly Summary[]} listings
 * @param {Language} language
 */
function locationOptions(listings, language) {
  const names = new Map(
    listings.flatMap(({ location }) => {
      if (location === null) return [];
      return [
        [location.id, localized(location.name, language)?.text ?? location.slug ?? location.id],
      ];
    }),
  );
  return [...names]
    .sort(([, a], [, b]) => a.localeCompare(b, language))
    .map(([id, name]) => element('option', { value: id, lang: language }, name));
}

/**
 * Makes the panel of missing parts, with a button for each kind. A second click on a chosen button clears the
 * choice.
 * @param {(kind: Kind | '') => void} onChoose
 */
function missingPanel(onChoose) {
  const buttons = KINDS.map((kind) => {
    const count = element('span', { class: 'number' });
    const language = languageOf(kind);
    const text = language
      ? LANGUAGES[language]
      : capital(THINGS[/** @type {keyof typeof THINGS} */ (kind)]);
    const button = element('button', { type: 'button', class: 'pill' }, `${text} `, count);
    button.addEventListener('click', () => {
      onChoose(button.getAttribute('aria-pressed') === 'true' ? '' : kind);
    });
    return { kind, button, count };
  });
  const buttonsOf = (/** @type {readonly string[]} */ kinds) =>
    buttons.filter(({ kind }) => kinds.includes(kind)).map(({ button }) => button);
  const rows = [
    ...Object.entries(TEXTS).map(([text, name]) => ({
      name,
      row: buttonsOf(LANGUAGE_CODES.map((code) => `${text}.${code}`)),
    })),
    { name: 'photos, place and price', row: buttonsOf(Object.keys(THINGS)) },
  ];
  const tally = element('span', { class: 'tally' });
  const panel = element(
    'details',
    { class: 'missing', open: matchMedia('(min-width: 48rem)').matches },
    element('summary', {}, element('h2', {}, 'What is missing'), tally),
    element(
      'div',
      { class: 'rows' },
      rows.map(({ name, row }) =>
        element(
          'div',
          { class: 'row', role: 'group', 'aria-label': `Listings without ${name}` },
          element('span', { class: 'name', 'aria-hidden': 'true' }, capital(name)),
          element('div', { class: 'pills' }, row),
        ),
      ),
    ),
  );
  return {
    element: panel,
    /**
     * @param {readonly Summary[]} listings
     * @param {Kind | ''} chosen
     */
    update(listings, chosen) {
      for (const { kind, button, count } of buttons) {
        const { length } = listings.filter(({ missing }) => missing.has(kind));
        const isChosen = kind === chosen;
        count.textContent = length.toLocaleString('en');
        button.disabled = length === 0 && !isChosen;
        button.setAttribute('aria-pressed', String(isChosen));
        button.title = sentenceOf(kind, length);
      }
      const lacking = listings.filter(({ missing }) => missing.size > 0).length;
      tally.textContent =
        lacking === 0
          ? 'nothing'
          : `${lacking.toLocaleString('en')} of ${listings.length.toLocaleString('en')} listings lack something`;
    },
  };
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
