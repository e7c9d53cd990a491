/** The catalogue: filters, what is missing, and a page of cards. */

import { findMissing, type Listing, PARTS } from '../../properties/missing.ts';
import { textIn } from './catalogue.ts';
import { formatCount, formatPart, formatPlace, formatPrice, formatSize } from './format.ts';
import { Badges, Localized, Marks, Picture, PreviewFrame } from './parts.tsx';
import { formatAddress, type View } from './view.ts';
import { WORDS } from './words.ts';

const CARDS_PER_PAGE = 24;

type Props = { listings: readonly Listing[]; view: View };

export function CataloguePage({ listings, view }: Props) {
  const all = { ...view, missing: '' };
  return (
    <PreviewFrame title={WORDS.catalogue} view={view}>
      <h1>{WORDS.catalogue}</h1>
      <Filters listings={listings} view={view} />
      <MissingParts listings={listings.filter((each) => isShown(each, all))} view={view} />
      <Cards listings={listings.filter((each) => isShown(each, view))} view={view} />
    </PreviewFrame>
  );
}

function Filters({ listings, view }: Props) {
  const statuses = Object.entries(WORDS.statuses).map(([status, name]) => {
    const { length } = listings.filter((listing) => listing.status === status);
    return [status, `${name} (${length})`];
  });
  const locations = listings.flatMap(({ location }) =>
    location === null ? [] : [[location.id, textIn(location.name, view.lang)?.text ?? ''] as const],
  );
  const sorted = [...new Map(locations)].sort(([, a], [, b]) => a.localeCompare(b, view.lang));
  const choices = [
    ['status', WORDS.status, statuses],
    ['type', WORDS.type, Object.entries(WORDS.types)],
    ['location', WORDS.location, sorted],
  ] as const;
  return (
    <form class="row">
      <input type="hidden" name="lang" value={view.lang} />
      <input type="hidden" name="missing" value={view.missing} />
      {choices.map(([name, label, options]) => (
        <label>
          {label}
          <select name={name}>
            <option value="">{WORDS.all}</option>
            {options.map(([value, text]) => (
              <option value={value} selected={view[name] === value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      ))}
      <label>
        {WORDS.find}
        <input name="find" value={view.find} placeholder={WORDS.findIn} />
      </label>
      <button type="submit">{WORDS.show}</button>
      <a href={`/preview?lang=${view.lang}`}>{WORDS.showAll}</a>
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
        <b>{WORDS.whatIsMissing}</b> {incomplete} {WORDS.of}{' '}
        {formatCount(listings.length, 'listings')} <span id="not-loaded" hidden />
      </summary>
      <p class="pills row">
        {PARTS.map((part) => {
          const isChosen = part.id === view.missing;
          const address = formatAddress({ ...view, missing: isChosen ? '' : part.id, page: 1 });
          return (
            <a href={address} aria-current={`${isChosen}`}>
              {formatPart(part)} <b>{missing.filter((own) => own.includes(part)).length}</b>
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
        {formatCount(listings.length, 'listings')}
        {filtered && `: ${formatPart(filtered)}`}
      </h2>
      {listings.length === 0 && <p class="box">{WORDS.noMatch}</p>}
      <ul class="grid">
        {cards.map((listing) => (
          <Card listing={listing} view={view} />
        ))}
      </ul>
      {pages > 1 && (
        <nav class="row" aria-label="Pages of cards">
          {page > 1 && <a href={formatAddress({ ...view, page: page - 1 })}>{WORDS.previous}</a>}
          {WORDS.page} {page} {WORDS.of} {pages}
          {page < pages && <a href={formatAddress({ ...view, page: page + 1 })}>{WORDS.next}</a>}
        </nav>
      )}
    </section>
  );
}

/** Its marks name what the listing lacks in this language, and what the filter looks for. */
function Card({ listing, view }: { listing: Listing; view: View }) {
  const { slug, name, title, hero_image } = listing;
  const missing = findMissing(listing).filter(
    ({ id, language = view.lang }) => id === view.missing || language === view.lang,
  );
  return (
    <li class="card">
      <div class="cover">
        <Picture photo={hero_image} view={view} />
        <Badges listing={listing} />
      </div>
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
    (view.missing === '' || findMissing(listing).some(({ id }) => id === view.missing)) &&
    texts.some((text) => plain(text).includes(plain(view.find)))
  );
}

/** Drops case and accents: Deià is found by deia. */
function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
