/** The words of the preview. */

import type { LocaleMap } from '../../properties/locale-map.ts';

export type Language = keyof LocaleMap;

/** One and several. */
type Noun = readonly [string, string];

export const WORDS = {
  languageOf: 'Language of the listings',
  catalogue: 'Catalogue',
  status: 'Status',
  type: 'Type',
  location: 'Location',
  find: 'Find',
  findIn: 'Title, name, city, reference',
  all: 'All',
  show: 'Show',
  showAll: 'Show all listings',
  whatIsMissing: 'What is missing',
  of: 'of',
  noMatch: 'No listing matches. Remove a filter, or run npm run import-listings -- FILE',
  previous: 'Previous',
  next: 'Next',
  page: 'Page',
  statuses: {
    listed: 'Listed',
    coming_soon: 'Coming soon',
    sold_out: 'Sold out',
    hidden: 'Hidden',
  },
  types: { beach: 'Beach', ski: 'Ski' },
  earlyAccess: 'Early access',
  from: 'from',
  share: 'share',
  perYear: 'per year',
  internalName: 'internal name',
  inLanguage: { en: 'in English', es: 'in Spanish', fr: 'in French' },
  missing: 'Missing',
  notLoaded: 'Photo not loaded',
  without: {
    photo: 'No photo',
    'cover photo': 'No cover photo',
    title: 'No title',
    description: 'No description',
    'alt text': 'No alt text',
    location: 'No location',
    price: 'No price',
  },
  listings: ['listing', 'listings'] as Noun,
  bedrooms: ['bedroom', 'bedrooms'] as Noun,
  bathrooms: ['bathroom', 'bathrooms'] as Noun,
  guests: ['guest', 'guests'] as Noun,
  beds: ['bed', 'beds'] as Noun,
  bathtubs: ['bathtub', 'bathtubs'] as Noun,
  weeks: ['week', 'weeks'] as Noun,
  morePhotos: ['more photo', 'more photos'] as Noun,
  openLarge: 'Open large',
  about: 'About this home',
  features: 'What sets it apart',
  amenities: 'Amenities',
  atAGlance: 'At a glance',
  whereItIs: 'Where it is',
  onAMap: 'On a map',
  itsPage: 'Its page on the site',
  itsJson: 'Its JSON in the feed',
  video: 'Video',
  financialAnalysis: 'Financial analysis',
  noSuchListing: 'There is no listing with the slug',
  toCatalogue: 'To the catalogue',
};

export const LANGUAGES = { en: 'English', es: 'Español', fr: 'Français' } as const;
