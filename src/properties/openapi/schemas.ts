/** The words of the feed's schemas in the OpenAPI document: the resources and the query parameters. */

import {
  described,
  listWords,
  pageWords,
  pagingWords,
  type Words,
  waitWords,
} from '../../openapi/words.ts';
import { changeList, propertyChange } from '../changes.ts';
import { LOCALES, localeMap } from '../locale-map.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from '../parameters.ts';
import {
  amenity,
  feature,
  galleryPhoto,
  heroImage,
  location,
  locationResource,
  PUBLIC_STATUSES,
  property,
  propertyCard,
} from '../resource.ts';
import { httpUrl, slug } from '../text.ts';

described(httpUrl, { examples: ['https://www.example.com/casa-marea'] });
described(slug, { examples: ['casa-marea'] });

described(localeMap, {
  id: 'LocaleMap',
  description: 'A text by language. A language without text is absent; the object may be empty.',
  examples: [{ en: 'Sea view', es: 'Vistas al mar', fr: 'Vue sur la mer' }],
  fields: { en: undefined, es: undefined, fr: undefined },
});

const LOCATION_WORDS = {
  id: 'Identifies the location: a value for the filter `location_id`.',
  slug: {
    description: 'Public key of the location: a value for the filter `location`.',
    examples: ['sardinia'],
  },
  name: undefined,
} satisfies Record<string, Words | undefined>;

described(location, {
  id: 'PropertyLocation',
  description: 'The location of a listing.',
  fields: LOCATION_WORDS,
});
described(locationResource, {
  id: 'LocationResource',
  description: 'A location that listings may have.',
  fields: LOCATION_WORDS,
});
described(amenity, {
  id: 'Amenity',
  description: 'An amenity of a home.',
  fields: { slug: { description: 'Key of the amenity.', examples: ['wifi'] }, label: undefined },
});
described(feature, {
  id: 'Feature',
  description: 'A feature that few other homes have.',
  fields: {
    icon_slug: { description: 'Names an icon of the site.', examples: ['sea-view'] },
    label: undefined,
  },
});
described(heroImage, {
  id: 'HeroImage',
  description: 'The main photo of a listing.',
  fields: { url: undefined, alt: undefined },
});
described(galleryPhoto, {
  id: 'GalleryPhoto',
  description: 'A photo that is visible on the web.',
  fields: {
    url: undefined,
    alt: undefined,
    section: undefined,
    sort_order: { description: 'Place in the gallery, ascending.', examples: [1] },
  },
});

/** The fields that a card has as well. */
const CARD_WORDS = {
  id: 'Identifies the property.',
  slug: { description: 'Stable public key.', examples: ['casa-marea'] },
  name: { description: 'Internal name, not localized.', examples: ['Casa Marea'] },
  status: 'Web status, never `hidden`.',
  title: 'Localized web title.',
  type: 'Type of the home.',
  bedrooms: { description: 'Number of bedrooms.', examples: [3] },
  bathrooms: { description: 'Number of bathrooms.', examples: [2] },
  capacity: { description: 'Number of people who can stay.', examples: [6] },
  size: { description: 'Square metres.', examples: [104] },
  city: { description: 'Town.', examples: ['Bosa'] },
  price_from: { description: 'Price of the smallest share.', examples: [118000] },
  fraction_from: { description: 'Smallest ownership fraction.', examples: ['1/8'] },
  hero_image: 'The selected hero photo, else the first photo of section hero.',
  location: 'The location of the listing.',
  url: {
    description: 'Canonical public address.',
    examples: ['https://www.example.com/listings/casa-marea'],
  },
  display_order: { description: 'Curatorial order, ascending.', examples: [210] },
  is_early_access: undefined,
} satisfies Record<string, Words | undefined>;

described(property, {
  id: 'Property',
  description: 'A listing of the marketing site.',
  fields: {
    ...CARD_WORDS,
    hid: {
      description: 'External home id; null when the property is not synchronised from upstream.',
      examples: ['H-1042'],
    },
    description: 'Plain text in each language; paragraphs are separated by a blank line.',
    unique_features: 'Features that few other homes have; may be empty.',
    beds: { description: 'Number of beds.', examples: [4] },
    bathtubs: { description: 'Number of bathtubs.', examples: [1] },
    address: { description: 'Street and number.', examples: ['Via delle Concerie 27'] },
    latitude: 'Degrees, WGS 84.',
    longitude: 'Degrees, WGS 84.',
    weeks_per_year: { description: 'Weeks of use per year that the share gives.', examples: [6] },
    financial_analysis_url: undefined,
    gallery: 'Every photo that is visible on the web, by `sort_order`.',
    video_url: 'Main web video.',
    location_text: 'Free-text blurb; `{}` when unset.',
    amenities: undefined,
  },
});
described(propertyCard, {
  id: 'PropertyCard',
  description: 'The fields of a listing for an overview page.',
  fields: CARD_WORDS,
});

described(propertyChange, {
  id: 'PropertyChange',
  description: 'The latest change of a listing.',
  fields: {
    id: 'Identifies the property.',
    slug: 'The slug of the property. For a removed property, its last public slug.',
    former_slugs:
      'The slugs under which the property was public before, newest first, for redirects. A slug that another property has now is left out.',
    change:
      '`published`: the property is public, and is new or has changed. `removed`: the property is hidden now.',
    changed_at: {
      description: 'When an import made the change. The list is not ordered by this time.',
      examples: ['2027-01-15T09:30:00.000Z'],
    },
    property: 'The property as it is now; null when it was removed.',
  },
});
described(changeList, {
  id: 'PropertyChangeList',
  description: 'A page of changes.',
  fields: {
    ...pageWords,
    resume_cursor:
      'Opaque, and present in every answer: send it as `after` to get the changes after this answer, now or at any later time.',
  },
});

const LOCALE_WORDS = listWords(
  { enum: LOCALES },
  LOCALES.length,
  'Only these languages of every text, comma-separated. If a text lacks a language, the language is absent: there is no fallback.',
);
const FRESH_WORDS: Words = {
  description:
    'Reads past the caches, from the primary database: the answer shows an import as soon as the import has ended. For a page that is rebuilt because of a change.',
  override: ({ jsonSchema }) => {
    delete jsonSchema.const;
    Object.assign(jsonSchema, { type: 'boolean', enum: [true] });
  },
};

described(listParameters, {
  fields: {
    ...pagingWords,
    type: 'Only listings of this type.',
    status: listWords(
      { enum: PUBLIC_STATUSES },
      PUBLIC_STATUSES.length,
      'Only listings with these web statuses, comma-separated. `hidden` is refused.',
    ),
    location_id: 'Only listings at the location with this id.',
    location: {
      description: 'Only listings at the location with this slug. Not beside `location_id`.',
      examples: ['sardinia'],
    },
    locale: LOCALE_WORDS,
    fresh: FRESH_WORDS,
  },
});
described(itemParameters, { fields: { locale: LOCALE_WORDS, fresh: FRESH_WORDS } });
described(locationParameters, {
  fields: { ...pagingWords, locale: LOCALE_WORDS, fresh: FRESH_WORDS },
});
described(changeParameters, {
  fields: {
    limit: pagingWords.limit,
    locale: LOCALE_WORDS,
    wait: waitWords('after', 'a change'),
    after: {
      ...pagingWords.cursor,
      description:
        'The `next_cursor` or the `resume_cursor` of any earlier answer, unchanged. Without it, the list begins with the whole public catalogue.',
    },
  },
});
