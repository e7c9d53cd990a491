// @ts-check
/**
 * Reads the catalogue: merges the pages of the feed and of the hidden listings into one list, in the order of the feed.
 * Of each listing it keeps only the fields that cards and filters need, because a catalogue may have thousands.
 */

import { missingOf, photosWithoutAlt } from './missing.browser.js';

/** @typedef {import('./missing.browser.js').Listing} Listing */
/** @typedef {ReturnType<typeof summaryOf>} Summary */
/** @typedef {{ data: Listing[], next_cursor: string | null }} ListPage */

/** The editor has just imported: cached answers would show the catalogue of before. */
const FRESH = 'fresh=true';
const FEED = `/api/v1/web/properties?status=listed,coming_soon,sold_out&limit=100&${FRESH}`;
const HIDDEN = '/preview/hidden.json?';
/** Requests of the rate limit that reading leaves to the editor. */
const KEPT_REQUESTS = 15;

/**
 * The catalogue so far.
 * @typedef {object} Catalogue
 * @property {Summary[]} listings
 * @property {boolean} isWhole
 * @property {string} [pause] Says why reading pauses.
 * @property {string} [problem] Says why reading has stopped before the end of the catalogue.
 */

/** An error answer, or no answer at all. */
export class Refusal extends Error {
  /**
   * @param {number} status 0: no answer
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Reads the whole catalogue. `onProgress` is called after each page.
 * @param {string} apiKey
 * @param {(catalogue: Catalogue) => void} onProgress
 */
export async function readCatalogue(apiKey, onProgress) {
  /** @type {Catalogue} */
  const catalogue = { listings: [], isWhole: false };
  const lists = [FEED, HIDDEN].map((path) => ({
    path,
    /** @type {Summary[]} */ waiting: [],
    isRead: false,
  }));
  const tell = () => {
    moveReady(lists, catalogue.listings);
    onProgress(catalogue);
  };
  const onPause = (/** @type {string | undefined} */ pause) => {
    if (pause === undefined) delete catalogue.pause;
    else catalogue.pause = pause;
    onProgress(catalogue);
  };
  try {
    await Promise.all(
      lists.map(async (list) => {
        for await (const page of pagesOf(list.path, apiKey, onPause)) {
          list.waiting.push(...page.map(summaryOf));
          tell();
        }
        list.isRead = true;
        tell();
      }),
    );
    catalogue.isWhole = true;
  } catch (error) {
    catalogue.problem = error instanceof Error ? error.message : String(error);
  }
  tell();
}

/**
 * Reads one listing, hidden or not; undefined when no listing has this slug.
 * @param {string} slug
 * @param {string} apiKey
 * @returns {Promise<Listing | undefined>}
 */
export async function readListing(slug, apiKey) {
  const name = encodeURIComponent(slug);
  const hidden = await ask(`${HIDDEN}slug=${name}`, apiKey);
  const [found] = /** @type {ListPage} */ (hidden.body).data;
  if (found !== undefined) return found;
  try {
    const { body } = await ask(`/api/v1/web/properties/${name}?${FRESH}`, apiKey);
    return /** @type {Listing} */ (body);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Merges the lists: moves the waiting listings in order. Each list is sorted, so the next listing is known once every
 * list has a waiting listing or has ended.
 * @param {readonly { waiting: Summary[], isRead: boolean }[]} lists
 * @param {Summary[]} listings
 */
function moveReady(lists, listings) {
  while (lists.every(({ waiting, isRead }) => isRead || waiting.length > 0)) {
    const [first] = lists
      .filter(({ waiting }) => waiting.length > 0)
      .sort(({ waiting: [a] }, { waiting: [b] }) => (a && b ? compare(a, b) : 0));
    const next = first?.waiting.shift();
    if (next === undefined) return;
    listings.push(next);
  }
}

/**
 * @param {Summary} a
 * @param {Summary} b
 */
function compare(a, b) {
  return a.display_order - b.display_order || (a.id < b.id ? -1 : 1);
}

/** @param {Listing} listing */
function summaryOf(listing) {
  const { id, hid, slug, name, status, title, type, city, location, display_order } = listing;
  const { bedrooms, bathrooms, capacity, size, price_from, fraction_from } = listing;
  const missing = missingOf(listing);
  return {
    ...{ id, hid, slug, name, status, title, type, city, location, display_order },
    ...{ bedrooms, bathrooms, capacity, size, price_from, fraction_from },
    is_early_access: listing.is_early_access,
    hero_image: listing.hero_image,
    missing: new Set(missing),
    withoutAlt: {
      en: photosWithoutAlt(listing, 'en'),
      es: photosWithoutAlt(listing, 'es'),
      fr: photosWithoutAlt(listing, 'fr'),
    },
  };
}

/**
 * Reads the pages of a list. Near the end of the rate limit it pauses until the window is over, so that the
 * editor's own requests still pass.
 * @param {string} path
 * @param {string} apiKey
 * @param {(pause: string | undefined) => void} onPause
 * @returns {AsyncGenerator<Listing[], void>}
 */
async function* pagesOf(path, apiKey, onPause) {
  let cursor = '';
  for (;;) {
    const { body, headers } = await ask(`${path}${cursor}`, apiKey, onPause);
    const { data, next_cursor } = /** @type {ListPage} */ (body);
    yield data;
    if (next_cursor === null) return;
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
    const left = headers.get('X-RateLimit-Remaining');
    if (left !== null && Number(left) < KEPT_REQUESTS) {
      await pauseFor(Number(headers.get('X-RateLimit-Reset')), onPause);
    }
  }
}

/**
 * Asks the service. Waits and repeats the request when the rate limit refuses it. Throws a `Refusal` for any other
 * error. The page does not validate answers: the service's tests check their shape.
 * @param {string} path
 * @param {string} apiKey
 * @param {(pause: string | undefined) => void} [onPause]
 * @returns {Promise<{ body: unknown, headers: Headers }>}
 */
async function ask(path, apiKey, onPause = () => {}) {
  for (;;) {
    const response = await fetch(path, { headers: { 'x-api-key': apiKey } }).catch(() => {
      throw new Refusal(0, 'The service does not answer. Is npm run dev still running?');
    });
    if (response.status === 429) {
      await pauseFor(Number(response.headers.get('Retry-After')), onPause);
      continue;
    }
    const body = await response.json();
    if (response.ok) return { body, headers: response.headers };
    const { error } = /** @type {{ error: { message: string, request_id: string } }} */ (body);
    const message = `The service answers ${response.status}: ${error.message} (${error.request_id})`;
    throw new Refusal(response.status, message);
  }
}

/**
 * @param {number} seconds
 * @param {(pause: string | undefined) => void} onPause
 */
async function pauseFor(seconds, onPause) {
  onPause(`The rate limit of the service is reached: reading goes on in ${seconds} s.`);
  await new Promise((resolve) => setTimeout(resolve, Math.max(1, seconds) * 1_000));
  onPause(undefined);
}
