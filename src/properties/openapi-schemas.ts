/** The words of the feed's schemas in the OpenAPI document: the resources and the query parameters. */

import { described, namesWords, pageWords, pagingWords, type Words } from '../openapi/words.ts';
import { changeList, propertyChange } from './changes.ts';
import { LOCALES, localeMap } from './locale-map.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from './parameters.ts';
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
} from './resource.ts';
import { httpUrl, slug } from './text.ts';

described(httpUrl, { examples: ['https://www.example.com/casa-marea'] });
described(slug, { examples: ['casa-marea'] });

described(localeMap, {
  id: 'LocaleMap',
  description: 'A text in each language that has one; it can be empty.',
  examples: [{ en: 'Sea view', es: 'Vistas al mar', fr: 'Vue sur la mer' }],
  fields: { en: undefined, es: undefined, fr: undefined },
});

const LOCATION_WORDS = {
  id: 'Identifies the location: `location_id` takes it.',
  slug: {
    description: 'Public key of the location: `location` takes it.',
    examples: ['sardinia'],
  },
  name: undefined,
} satisfies Record<string, Words | undefined>;

described(location, {
  id: 'PropertyLocation',
  description: 'A place that listings name.',
  fields: LOCATION_WORDS,
});
described(locationResource, {
  id: 'LocationResource',
  description: 'A place that listings may name.',
  fields: LOCATION_WORDS,
});
described(amenity, {
  id: 'Amenity',
  description: 'Something that a home offers.',
  fields: { slug: { description: 'Key of the amenity.', examples: ['wifi'] }, label: undefined },
});
described(feature, {
  id: 'Feature',
  description: 'Something that sets a home apart.',
  fields: {
    icon_slug: { description: 'Names an icon of the site.', examples: ['sea-view'] },
    label: undefined,
  },
});
described(heroImage, {
  id: 'HeroImage',
  description: 'The photo that stands for a home.',
  fields: { url: undefined, alt: undefined },
});
described(galleryPhoto, {
  id: 'GalleryPhoto',
  description: 'A photo that the web shows.',
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
  status: 'Actual web status, never `hidden`.',
  title: 'Localized web title.',
  type: 'Kind of place.',
  bedrooms: { description: 'Number of bedrooms.', examples: [3] },
  bathrooms: { description: 'Number of bathrooms.', examples: [2] },
  capacity: { description: 'People who can stay.', examples: [6] },
  size: { description: 'Square metres.', examples: [104] },
  city: { description: 'Town.', examples: ['Bosa'] },
  price_from: { description: 'Price of the smallest share.', examples: [118000] },
  fraction_from: { description: 'Smallest ownership fraction.', examples: ['1/8'] },
  hero_image: 'The selected hero photo, else the first photo of section hero.',
  location: 'The place that the listing names.',
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
    unique_features: 'What sets the home apart; may be empty.',
    beds: { description: 'Number of beds.', examples: [4] },
    bathtubs: { description: 'Number of bathtubs.', examples: [1] },
    address: { description: 'Street and number.', examples: ['Via delle Concerie 27'] },
    latitude: 'Degrees, WGS 84.',
    longitude: 'Degrees, WGS 84.',
    weeks_per_year: { description: 'Weeks of use per year that the share gives.', examples: [6] },
    financial_analysis_url: undefined,
    gallery: 'Every photo that the web shows, by `sort_order`.',
    video_url: 'Main web video.',
    location_text: 'Free-text blurb; `{}` when unset.',
    amenities: undefined,
  },
});
described(propertyCard, {
  id: 'PropertyCard',
  description: 'The fields of a listing that an overview page shows.',
  fields: CARD_WORDS,
});

described(propertyChange, {
  id: 'PropertyChange',
  description: 'The latest change of a listing.',
  fields: {
    id: 'Identifies the property.',
    slug: 'The slug of the property; of a removed one the last that was public.',
    former_slugs:
      'The slugs under which the property was public before, newest first, without those that another one has now: for redirects.',
    change: '`published`: it is public, new or changed. `removed`: it is hidden now.',
    changed_at: {
      description:
        'When an import made the change; null for a listing that was stored before the list existed. The order is not that of these times.',
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
      'Where to go on, now or at any later time: send it as `after`. It is there on the last page too.',
  },
});

const LOCALE_WORDS = namesWords(
  LOCALES,
  'Only these languages of every text, comma-separated. A language that a text lacks is absent: there is no fallback.',
);
const FRESH_WORDS: Words = {
  description:
    'An answer that no cache gave: what an import wrote is in it when the import has ended. For a page that is made anew because of a change.',
  override: ({ jsonSchema }) => {
    delete jsonSchema.const;
    Object.assign(jsonSchema, { type: 'boolean', enum: [true] });
  },
};

described(listParameters, {
  fields: {
    ...pagingWords,
    type: 'Only homes of this kind.',
    status: namesWords(
      PUBLIC_STATUSES,
      'Only homes of these web statuses, comma-separated. `hidden` cannot be asked for.',
    ),
    location_id: 'Only homes at this location: the `location.id` of any of them.',
    location: {
      description:
        'Only homes at this location: the `location.slug` of any of them. Not beside `location_id`.',
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
    wait: {
      description:
        'With `after`: hold an empty answer for up to so many seconds, until there is a change.',
      override: { type: 'integer', format: 'int32', minimum: 1, maximum: 25 },
    },
    after: {
      ...pagingWords.cursor,
      description:
        'The `next_cursor` or the `resume_cursor` of any earlier answer, unchanged. Leave it out to begin with the whole public catalogue.',
    },
  },
});
