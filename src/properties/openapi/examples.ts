/** Examples of the feed: its answers when the sample listings are loaded. */

import samples from '../../../tools/samples/listings.json' with { type: 'json' };
import { EXAMPLE_TIME, pageExample } from '../../openapi/chapter.ts';
import { inLanguages } from '../locale-map.ts';
import { cardOf, render } from '../render.ts';
import type { Source } from '../source.ts';
import { type Property, property } from './resource.ts';

const { location_id: _, ...sample } = bySlug(samples.properties, 'sa-domu-rubia');
const sardinia = bySlug(samples.locations, 'sardinia');

/** The listing of the examples, as it is stored. The sample has every field, and `listing` is validated. */
const example = {
  ...sample,
  location: sardinia,
  amenities: sample.amenities?.map((slug) => bySlug(samples.amenities, slug)),
} as Source;

/** The example as the feed sends it. */
const listing: Property = property.parse(render(example, 'https://www.example.com'));

/** The `next_cursor` of the example's page: it leads to the listings of the location that follow the example. */
const nextCursor =
  'so6BdcrgwQFbMiwicHJvcGVydGllcyIsIjEwOSwyMjUsMTQ0LDIwNywyMzQsMTYzLDE3MCw2MyIsWzIxMCwiYjcxNDE4NTktNjRhZS00OWZkLTg3YmMtOWQ1YTBhMmNjMThiIl1d';

/** The second page of cards with `location=sardinia&limit=1&locale=en`. */
const cards = pageExample(
  [inEnglish(cardOf(listing))],
  'XfKVkRNI9ShbMiwicHJvcGVydHktY2FyZHMiLCIxNjQsMTM5LDU2LDIxLDIzMyw3MCwxODcsMTI4IixbMjEwLCJiNzE0MTg1OS02NGFlLTQ5ZmQtODdiYy05ZDVhMGEyY2MxOGIiXV0',
);

/** The example has changed, another listing was hidden. */
const changed = [
  {
    object: 'property_change',
    id: listing.id,
    slug: listing.slug,
    former_slugs: ['casa-rossa'],
    change: 'published',
    changed_at: EXAMPLE_TIME,
    property: inEnglish(listing),
  },
  {
    object: 'property_change',
    id: '38e41363-4d59-46f1-9e09-b6848ac0a8df',
    slug: 'casa-ginebrera',
    former_slugs: [],
    change: 'removed',
    changed_at: EXAMPLE_TIME,
    property: null,
  },
];

/** The changes with `locale=en`. */
const changes = pageExample(changed, null, {
  resume_cursor:
    'RdhyvBNdYF1bMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMiwyXV0',
});

const CURSOR_TO_THE_REMOVAL =
  '0fJwhgB_GqdbMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMSwxXV0';

/** The first page of the same changes with `limit=1`. */
const firstChanges = pageExample(changed.slice(0, 1), CURSOR_TO_THE_REMOVAL, {
  resume_cursor: CURSOR_TO_THE_REMOVAL,
});

/** The first page of locations with `limit=2&locale=en`. */
const locations = pageExample(
  [locationOf('algarve'), locationOf('colorado')],
  '9lyGHX5mH05bMiwibG9jYXRpb25zIiwiIixbImNvbG9yYWRvIiwiMzVlMjg1ZDEtNmMzOC00ZDJkLWE3NDYtODQzNGJiOTUzMzkwIl1d',
);

/** The last page of the same locations. */
const lastLocations = pageExample([locationOf(null)], null);

/** Returns a resource as `locale=en` gives it. */
function inEnglish(resource: object): unknown {
  return JSON.parse(inLanguages(JSON.stringify(resource), ['en']));
}

/** Returns the resource of a sample location, as `locale=en` gives it. */
function locationOf(slug: string | null): unknown {
  return inEnglish({ object: 'location', ...bySlug(samples.locations, slug) });
}

function bySlug<Sample extends { slug: string | null }>(
  records: readonly Sample[],
  slug: string | null,
): Sample {
  const found = records.find((record) => record.slug === slug);
  if (found === undefined) throw new Error(`no sample has the slug ${slug}`);
  return found;
}

/** The examples: ids, cursors and resources. */
export const EXAMPLES = {
  locationId: sardinia.id,
  nextCursor,
  listing,
  cards,
  changes,
  firstChanges,
  locations,
  lastLocations,
};
