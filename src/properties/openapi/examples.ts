/** Examples of the feed: its responses when the sample listings are stored. */

import samples from '../../../tools/samples/listings.json' with { type: 'json' };
import { EXAMPLE_TIME, pageExample } from '../../openapi/chapter.ts';
import { inLanguages } from '../locale-map.ts';
import { cardOf, render } from '../render.ts';
import { type Property, property } from '../resource.ts';
import type { Source } from '../source.ts';

const { location_id: _, ...sample } = bySlug(samples.properties, 'sa-domu-rubia');
const location = bySlug(samples.locations, 'sardinia');

/** The sample has every field, and `listing` is validated. */
const source = {
  ...sample,
  location,
  amenities: sample.amenities?.map((slug) => bySlug(samples.amenities, slug)),
} as Source;

const listing: Property = property.parse(render(source, 'https://www.example.com'));

const changes = [
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

const CURSOR_TO_THE_REMOVAL =
  '0fJwhgB_GqdbMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMSwxXV0';

/** The comments name the queries. */
export const EXAMPLES = {
  locationId: location.id,
  listing,
  /** The second page of `location_id=…&limit=1`. */
  page: pageExample(
    [listing],
    'so6BdcrgwQFbMiwicHJvcGVydGllcyIsIjEwOSwyMjUsMTQ0LDIwNywyMzQsMTYzLDE3MCw2MyIsWzIxMCwiYjcxNDE4NTktNjRhZS00OWZkLTg3YmMtOWQ1YTBhMmNjMThiIl1d',
  ),
  /** The second page of `location=sardinia&limit=1&locale=en`. */
  cards: pageExample(
    [inEnglish(cardOf(listing))],
    'XfKVkRNI9ShbMiwicHJvcGVydHktY2FyZHMiLCIxNjQsMTM5LDU2LDIxLDIzMyw3MCwxODcsMTI4IixbMjEwLCJiNzE0MTg1OS02NGFlLTQ5ZmQtODdiYy05ZDVhMGEyY2MxOGIiXV0',
  ),
  /** `locale=en` */
  changes: pageExample(changes, null, {
    resume_cursor:
      'RdhyvBNdYF1bMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMiwyXV0',
  }),
  /** `locale=en&limit=1` */
  firstChanges: pageExample(changes.slice(0, 1), CURSOR_TO_THE_REMOVAL, {
    resume_cursor: CURSOR_TO_THE_REMOVAL,
  }),
  /** `limit=2&locale=en` */
  locations: pageExample(
    [locationOf('algarve'), locationOf('colorado')],
    '9lyGHX5mH05bMiwibG9jYXRpb25zIiwiIixbImNvbG9yYWRvIiwiMzVlMjg1ZDEtNmMzOC00ZDJkLWE3NDYtODQzNGJiOTUzMzkwIl1d',
  ),
  lastLocations: pageExample([locationOf(null)], null),
};

/** Returns a resource as with `locale=en`. */
function inEnglish(resource: object): unknown {
  return JSON.parse(inLanguages(JSON.stringify(resource), ['en']));
}

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
