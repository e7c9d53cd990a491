// @ts-check
/**
 * The preview: shows the catalogue, or the listing that the page's address names. The address holds the filters and
 * the language, so that a view can be kept and sent.
 */

import { createCatalogueView } from './catalogue.browser.js';
import { append, element } from './element.browser.js';
import { listingNodes } from './listing.browser.js';
import { isKind } from './missing.browser.js';
import { readCatalogue, readListing } from './reading.browser.js';
import { LANGUAGE_CODES } from './words.browser.js';

/** @typedef {import('./catalogue.browser.js').CatalogueFilters} CatalogueFilters */
/** @typedef {import('./missing.browser.js').Listing} Listing */
/** @typedef {import('./reading.browser.js').Catalogue} Catalogue */

const LISTING_PATH = /^\/preview\/listings\/([^/]+)$/;
/** Browsers limit how often a page changes its address, so it does not change with each key press. */
const WRITING_PAUSE_MS = 200;

const apiKey = document.body.dataset.apiKey ?? '';
const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const view = createCatalogueView(changeFilters);

/** @type {Catalogue | undefined} Read when the catalogue is first shown. */
let catalogue;
/** The catalogue's address, to which a listing's page leads back. */
let cataloguePath = '/preview';
/** The slug of the listing that was shown last. */
let lastSlug = '';
/** The scroll position at which the catalogue was left. */
let scrollOfCatalogue = 0;
let filters = filtersOfPage();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let writing;
/** @type {{ slug: string, listing: Listing } | undefined} The listing that is shown. */
let current;

history.scrollRestoration = 'manual';
document.addEventListener('click', followLink);
addEventListener('popstate', (event) => void show(event.state?.scroll ?? 0));
void show(0, true);

/** Shows the catalogue or the listing that the address names. @param {number} scroll @param {boolean} [isFirst] */
async function show(scroll, isFirst = false) {
  updateLanguageLinks();
  const slug = slugOfPage();
  if (slug === undefined) showCatalogue(scroll, isFirst);
  else await showListing(slug, scroll, isFirst);
}

/** Points each language's link at this page in that language, and the link of the catalogue at the current language. */
function updateLanguageLinks() {
  document.querySelector('.brand')?.setAttribute('href', `/preview?lang=${languageOfPage()}`);
  for (const link of document.querySelectorAll('.languages a')) {
    const language = link.getAttribute('data-language') ?? '';
    const query = new URLSearchParams(location.search);
    query.set('lang', language);
    link.setAttribute('href', `${location.pathname}?${query}`);
    if (language === languageOfPage()) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

/** @param {number} scroll @param {boolean} isFirst */
function showCatalogue(scroll, isFirst) {
  filters = filtersOfPage();
  document.title = 'Preview of the catalogue';
  const isNew = !main.contains(view.heading);
  if (isNew) main.replaceChildren(...view.nodes);
  if (catalogue === undefined) {
    catalogue = { listings: [], isWhole: false };
    void readCatalogue(apiKey, (read) => {
      catalogue = read;
      showFiltered();
    });
  }
  showFiltered();
  if (!isNew || isFirst) return;
  scrollTo(0, scroll);
  const target = /** @type {HTMLElement} */ (view.linkOf(lastSlug) ?? view.heading);
  target.focus({ preventScroll: true });
}

/** Updates the view of the catalogue while it is shown. */
function showFiltered() {
  if (catalogue === undefined || !main.contains(view.heading)) return;
  view.update(catalogue, filters, languageOfPage());
}

/** @param {string} slug @param {number} scroll @param {boolean} isFirst */
async function showListing(slug, scroll, isFirst) {
  const isSame = current?.slug === slug && main.querySelector('.head') !== null;
  lastSlug = slug;
  if (!isSame) {
    const read = await readListing(slug, apiKey).catch((/** @type {unknown} */ error) => error);
    // Another page was opened meanwhile.
    if (slugOfPage() !== slug) return;
    if (read === undefined || read instanceof Error) {
      current = undefined;
      showNotice(read?.message ?? `There is no listing ${slug}.`);
      return;
    }
    current = { slug, listing: /** @type {Listing} */ (read) };
  }
  if (current === undefined) return;
  main.replaceChildren(backLink());
  append(main, listingNodes(current.listing, languageOfPage()));
  document.title = `${main.querySelector('h1')?.firstChild?.textContent} – Preview`;
  if (isSame || isFirst) return;
  scrollTo(0, scroll);
  main.querySelector('h1')?.focus({ preventScroll: true });
}

/** @param {string} text */
function showNotice(text) {
  document.title = 'Preview of the catalogue';
  main.replaceChildren(backLink(), element('h1', { tabindex: -1 }, 'Not here'));
  append(main, element('p', { class: 'notice', role: 'alert' }, text));
  main.querySelector('h1')?.focus();
}

function backLink() {
  const query = new URLSearchParams(cataloguePath.split('?')[1]);
  query.set('lang', languageOfPage());
  return element(
    'nav',
    { 'aria-label': 'Back' },
    element('a', { class: 'back', href: `/preview?${query}` }, 'Catalogue'),
  );
}

/** Follows links of the preview without loading the page anew. @param {MouseEvent} event */
function followLink(event) {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || event.button !== 0 || event.defaultPrevented) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  const isOwn = url.pathname === '/preview' || LISTING_PATH.test(url.pathname);
  if (url.origin !== location.origin || !isOwn || url.hash !== '') return;
  event.preventDefault();
  writeAddress();
  // A change of language keeps the scroll position. A listing begins at its top, the catalogue where it was left.
  if (link.matches('.languages a')) {
    history.replaceState(history.state, '', link.href);
    void show(scrollY);
    return;
  }
  if (slugOfPage() === undefined) {
    cataloguePath = `/preview${location.search}`;
    scrollOfCatalogue = scrollY;
  }
  history.replaceState({ scroll: scrollY }, '');
  history.pushState(null, '', url);
  void show(link.matches('.back') ? scrollOfCatalogue : 0);
}

/** @param {Partial<CatalogueFilters>} change */
function changeFilters(change) {
  filters = { ...filters, ...change };
  showFiltered();
  clearTimeout(writing);
  writing = setTimeout(writeAddress, WRITING_PAUSE_MS);
}

/** Writes the filters into the address. */
function writeAddress() {
  clearTimeout(writing);
  if (slugOfPage() !== undefined) return;
  const query = new URLSearchParams({ lang: languageOfPage() });
  for (const [name, value] of Object.entries(filters)) {
    if (value !== '') query.set(name, value);
  }
  history.replaceState(history.state, '', `/preview?${query}`);
  updateLanguageLinks();
}

/** @returns {CatalogueFilters} */
function filtersOfPage() {
  const query = new URLSearchParams(location.search);
  const text = (/** @type {string} */ name) => query.get(name) ?? '';
  const missing = query.get('missing');
  return {
    status: text('status'),
    type: text('type'),
    location: text('location'),
    find: text('find'),
    missing: isKind(missing) ? missing : '',
  };
}

function languageOfPage() {
  const asked = new URLSearchParams(location.search).get('lang');
  return LANGUAGE_CODES.find((code) => code === asked) ?? 'en';
}

/** Returns the slug of the listing that the address names; undefined for the catalogue. */
function slugOfPage() {
  const slug = LISTING_PATH.exec(location.pathname)?.[1];
  return slug === undefined ? undefined : decodeURIComponent(slug);
}
