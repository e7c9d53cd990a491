/** The catalogue: filters, what is missing, and a page of cards. */

import { LOCALES } from '../../properties/locale-map.ts';
import { findMissing, LANGUAGES, type Listing, PART_NAMES, textIn } from './catalogue.ts';
import { counted, formatPlace, formatPrice, formatSize, STATUSES, TYPES } from './format.ts';
import { Badges, Localized, Marks, Picture, PreviewFrame } from './parts.tsx';
import { formatAddress, type View } from './view.ts';

const CARDS_PER_PAGE = 24;

type Props = { listings: readonly Listing[]; view: View };

export function CataloguePage({ listings, view }: Props) {
  const all = { ...view, missing: '' };
  return (
    <PreviewFrame title="Catalogue" view={view}>
      <h1>Catalogue</h1>
      <Filters listings={listings} view={view} />
      <MissingParts listings={listings.filter((each) => isShown(each, all))} view={view} />
      <Cards listings={listings.filter((each) => isShown(each, view))} view={view} />
    </PreviewFrame>
  );
}

function Filters({ listings, view }: Props) {
  const statuses = Object.entries(STATUSES).map(([status, name]) => {
    const { length } = listings.filter((listing) => listing.status === status);
    return [status, `${name} (${length})`];
  });
  const locations = listings.flatMap(({ location }) =>
    location === null ? [] : [[location.id, textIn(location.name, view.lang)?.text ?? ''] as const],
  );
  const sorted = [...new Map(locations)].sort(([, a], [, b]) => a.localeCompare(b, view.lang));
  const choices = { status: statuses, type: Object.entries(TYPES), location: sorted };
  return (
    <form class="row">
      <input type="hidden" name="lang" value={view.lang} />
      <input type="hidden" name="missing" value={view.missing} />
      {Object.entries(choices).map(([name, options]) => (
        <label>
          {name}
          <select name={name}>
            <option value="">All</option>
            {options.map(([value, text]) => (
              <option value={value} selected={view[name as keyof View] === value}>
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

/** Each count leads to its listings, the chosen one back to all. The script counts photos. */
function MissingParts({ listings, view }: Props) {
  const missing = listings.map(findMissing);
  const incomplete = missing.filter(({ length }) => length > 0).length;
  return (
    <details class="box" open={view.missing !== ''} hidden={incomplete === 0}>
      <summary>
        <b>What is missing</b> {incomplete} of {counted(listings.length, 'listing')}{' '}
        <span id="not-loaded" hidden />
      </summary>
      <p class="pills row">
        {PART_NAMES.map((name) => {
          const isChosen = name === view.missing;
          const address = formatAddress({ ...view, missing: isChosen ? '' : name, page: 1 });
          return (
            <a href={address} aria-current={`${isChosen}`}>
              No {name} <b>{missing.filter((names) => names.includes(name)).length}</b>
            </a>
          );
        })}
      </p>
    </details>
  );
}

function Cards({ listings, view }: Props) {
  const pages = Math.max(1, Math.ceil(listings.length / CARDS_PER_PAGE));
  const page = Math.min(view.page, pages);
  const cards = listings.slice((page - 1) * CARDS_PER_PAGE, page * CARDS_PER_PAGE);
  return (
    <section aria-labelledby="count">
      <h2 id="count">
        {counted(listings.length, 'listing')}
        {view.missing && `: no ${view.missing}`}
      </h2>
      {listings.length === 0 && (
        <p class="box">
          No listing matches. Remove a filter, or run npm run import-listings -- FILE
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

/** Its marks name what the listing lacks in this language, and what the filter looks for. */
function Card({ listing, view }: { listing: Listing; view: View }) {
  const { slug, name, title, hero_image } = listing;
  const others = LOCALES.filter((lang) => lang !== view.lang).map((lang) => LANGUAGES[lang]);
  const missing = findMissing(listing).filter(
    (part) => part === view.missing || !others.some((language) => part.startsWith(language)),
  );
  return (
    <li class="card">
      <Picture photo={hero_image} view={view} />
      <Badges listing={listing} />
      <h3>
        <a id={`listing-${slug}`} href={formatAddress(view, `/preview/listings/${slug}`)}>
          <Localized map={title} view={view} instead={name} />
        </a>
      </h3>
      <p lang={view.lang}>{formatPlace(listing, view)}</p>
      <p>{formatSize(listing)}</p>
      <b>{formatPrice(listing)}</b>
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
    ['', ...findMissing(listing)].includes(view.missing) &&
    texts.some((text) => plain(text).includes(plain(view.find)))
  );
}

/** Drops case and accents: Deià is found by deia. */
function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
