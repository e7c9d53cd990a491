/** Examples of the feed's responses, made from the sample listings. */

import samples from '../../../tools/samples/listings.json' with { type: 'json' };
import { EXAMPLE_TIME, pageExample } from '../../openapi/chapter.ts';
import { pickLocales } from '../locale-map.ts';
import { render, toCard } from '../render.ts';
import type { Source } from '../source.ts';
import { type Property, property } from './property.ts';

const { location_id, ...sample } = findBySlug(samples.properties, 'casa-ginebrera');

/** The cast is safe, because the sample has every field, and `listing` is validated. */
const source = {
  ...sample,
  location: samples.locations.find(({ id }) => id === location_id),
  amenities: sample.amenities?.map((slug) => findBySlug(samples.amenities, slug)),
} as Source;

const listing: Property = property.parse(render(source, 'https://www.example.com'));

const change = {
  object: 'property_change',
  id: listing.id,
  slug: listing.slug,
  former_slugs: [],
  change: 'published',
  changed_at: EXAMPLE_TIME,
  property: listing,
};
const removal = {
  ...change,
  id: 'b7141859-64ae-49fd-87bc-9d5a0a2cc18b',
  slug: 'sa-domu-rubia',
  change: 'removed',
  property: null,
};

const CURSOR_AFTER_THE_FIRST =
  'WLDQFaie_QBbMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMSw1N11d';

/** Each list is the first page for `limit=1`. */
export const EXAMPLES = {
  listing,
  page: pageExample(
    [listing],
    'KIIsmHO-KuhbMiwicHJvcGVydGllcyIsImY0YjhjM2I0NTE3ZjY2NmEiLFsxMCwiMzhlNDEzNjMtNGQ1OS00NmYxLTllMDktYjY4NDhhYzBhOGRmIl1d',
  ),
  cards: pageExample(
    [toCard(listing)],
    'ML675I23uEtbMiwicHJvcGVydHktY2FyZHMiLCJmNGI4YzNiNDUxN2Y2NjZhIixbMTAsIjM4ZTQxMzYzLTRkNTktNDZmMS05ZTA5LWI2ODQ4YWMwYThkZiJdXQ',
  ),
  firstChanges: pageExample([change], CURSOR_AFTER_THE_FIRST, {
    resume_cursor: CURSOR_AFTER_THE_FIRST,
  }),
  /** With `locale=en`, after one listing was renamed and another was hidden. */
  changes: pageExample(
    [{ ...change, former_slugs: ['can-ginebre'], property: withLocale(listing) }, removal],
    null,
    {
      resume_cursor:
        'RdhyvBNdYF1bMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMiwyXV0',
    },
  ),
  locations: pageExample(
    [findLocation('algarve')],
    'lu_QaBMWWK1bMiwibG9jYXRpb25zIiwiIixbImFsZ2FydmUiLCI1Y2ZkZDc5OS0yYTNlLTQ0YmQtYmFjZC0wNjYwN2Q3Y2IyNGUiXV0',
  ),
  lastLocations: pageExample([findLocation(null)], null),
};

/** Reduces a resource to English, as `locale=en` does. */
function withLocale(resource: object): unknown {
  return JSON.parse(pickLocales(JSON.stringify(resource), ['en']));
}

function findLocation(slug: string | null): unknown {
  return { object: 'location', ...findBySlug(samples.locations, slug) };
}

function findBySlug<Sample extends { slug: string | null }>(
  records: readonly Sample[],
  slug: string | null,
): Sample {
  const sample = records.find((record) => record.slug === slug);
  if (sample === undefined) throw new Error(`No sample has the slug ${slug}.`);
  return sample;
}
