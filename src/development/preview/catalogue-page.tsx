/** Renders the catalogue page, with filters, counts of missing parts, and cards. */

import { raw } from 'hono/html';
import { card, pickText } from '../../../docs/examples/listing-html.ts';
import { findMissing, type Listing, PARTS } from './missing.ts';
import { formatPart, HiddenMark, Marks, PreviewFrame } from './parts.tsx';
import { formatAddress, type View } from './view.ts';

const CARDS_PER_PAGE = 24;
const STATUSES = {
  listed: 'Listed',
  coming_soon: 'Coming soon',
  sold_out: 'Sold out',
  hidden: 'Hidden',
};
const TYPES = { beach: 'Beach', ski: 'Ski' };

type Props = { listings: readonly Listing[]; view: View };

export function CataloguePage({ listings, view }: Props) {
  const viewOfAll = { ...view, missing: '' };
  return (
    <PreviewFrame title="Catalogue" view={view}>
      <h1>Catalogue</h1>
      <Filters listings={listings} view={view} />
      <MissingParts
        listings={listings.filter((listing) => isShown(listing, viewOfAll))}
        view={view}
      />
      <Cards listings={listings.filter((listing) => isShown(listing, view))} view={view} />
    </PreviewFrame>
  );
}

function Filters({ listings, view }: Props) {
  const statuses = Object.entries(STATUSES).map(([status, name]) => {
    const { length } = listings.filter((listing) => listing.status === status);
    return [status, `${name} (${length})`];
  });
  const locations = listings.flatMap(({ location }) =>
    location === null ? [] : [[location.id, pickText(location.name, view.lang)] as const],
  );
  const sorted = [...new Map(locations)].sort(([, a], [, b]) => a.localeCompare(b, view.lang));
  const choices = [
    ['status', 'Status', statuses],
    ['type', 'Type', Object.entries(TYPES)],
    ['location', 'Location', sorted],
  ] as const;
  return (
    <form class="row">
      <input type="hidden" name="lang" value={view.lang} />
      <input type="hidden" name="missing" value={view.missing} />
      {choices.map(([name, label, options]) => (
        <label>
          {label}
          <select name={name}>
            <option value="">All</option>
            {options.map(([value, text]) => (
              <option value={value} selected={view[name] === value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      ))}
      <label>
        Find
        <input name="find" value={view.find} placeholder="Title, name, city, reference" />
      </label>
      <button type="submit">Show</button>
      <a href={`/preview?lang=${view.lang}`}>Show all listings</a>
    </form>
  );
}

/**
 * Renders the counts of missing parts. Each count links to the listings without the part. The
 * selected count links back to all listings. The page's script counts the photos that could not be
 * loaded.
 */
function MissingParts({ listings, view }: Props) {
  const missing = listings.map(findMissing);
  const incomplete = missing.filter(({ length }) => length > 0).length;
  return (
    <details class="box" open={view.missing !== ''} hidden={incomplete === 0}>
      <summary>
        <b>What is missing</b> {incomplete} of {countListings(listings)}{' '}
        <span id="not-loaded" hidden />
      </summary>
      <p class="pills row">
        {PARTS.map((part) => {
          const isChosen = part.id === view.missing;
          const address = formatAddress({ ...view, missing: isChosen ? '' : part.id, page: 1 });
          return (
            <a href={address} aria-current={`${isChosen}`}>
              {formatPart(part)} <b>{missing.filter((parts) => parts.includes(part)).length}</b>
            </a>
          );
        })}
      </p>
    </details>
  );
}

function Cards({ listings, view }: Props) {
  const filtered = PARTS.find(({ id }) => id === view.missing);
  const pages = Math.max(1, Math.ceil(listings.length / CARDS_PER_PAGE));
  const page = Math.min(view.page, pages);
  const cards = listings.slice((page - 1) * CARDS_PER_PAGE, page * CARDS_PER_PAGE);
  return (
    <section aria-labelledby="count">
      <h2 id="count">
        {countListings(listings)}
        {filtered && `: ${formatPart(filtered)}`}
      </h2>
      {listings.length === 0 && (
        <p class="box">
          No listing matches. Remove a filter, or import listings with npm run import-listings --
          FILE
        </p>
      )}
      <ul class="grid">
        {cards.map((listing) => (
          <Card listing={listing} view={view} />
        ))}
      </ul>
      {pages > 1 && (
        <nav class="row" aria-label="Pages of cards">
          {page > 1 && <a href={formatAddress({ ...view, page: page - 1 })}>Previous</a>}
          Page {page} of {pages}
          {page < pages && <a href={formatAddress({ ...view, page: page + 1 })}>Next</a>}
        </nav>
      )}
    </section>
  );
}

/**
 * Renders a card. Marks the missing parts that match the filter or belong to the current language.
 */
function Card({ listing, view }: { listing: Listing; view: View }) {
  const { slug } = listing;
  const missing = findMissing(listing).filter(
    ({ id, language = view.lang }) => id === view.missing || language === view.lang,
  );
  const href = formatAddress(view, `/preview/listings/${slug}`);
  return (
    <li id={`listing-${slug}`} tabindex={-1}>
      <article class="card listing" lang={view.lang}>
        {raw(card(listing, view.lang, { tag: 'h3', href, loading: 'lazy' }))}
      </article>
      <HiddenMark listing={listing} />
      <Marks missing={missing} />
    </li>
  );
}

function isShown(listing: Listing, view: View): boolean {
  const { status, type, location, name, slug, hid, city, title } = listing;
  const texts = [name, slug, hid ?? '', city ?? '', ...Object.values(title)];
  return (
    ['', status].includes(view.status) &&
    ['', type].includes(view.type) &&
    ['', location?.id].includes(view.location) &&
    (view.missing === '' || findMissing(listing).some(({ id }) => id === view.missing)) &&
    texts.some((text) => foldText(text).includes(foldText(view.find)))
  );
}

/** Formats a number of listings, e.g. "1 listing" or "71 listings". */
function countListings({ length }: readonly Listing[]): string {
  return `${length} ${length === 1 ? 'listing' : 'listings'}`;
}

/** Removes case and accents, so that "deia" matches "Deià". */
function foldText(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
