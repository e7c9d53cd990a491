/** What is valid in a listing, and probably makes its page worse. It rejects nothing. Pure. */

import type { Property } from '../../../src/properties/openapi/property.ts';
import { render } from '../../../src/properties/render.ts';
import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Source } from '../../../src/properties/source.ts';
import { isFormulaError } from '../read/cells.ts';

/**
 * The cause, e.g. `title.fr of`, `label.es of amenity wifi, shown by` or `public without a photo:`.
 * The example is the slug of a listing, perhaps with its change.
 */
export type Finding = { cause: string; example: string };

type Check = {
  cause: string;
  /**
   * Returns each occurrence, in words that follow the slug, or `''`. `old` is the stored listing,
   * which checks of a change need.
   */
  find: (now: Source, old?: Source) => string[];
};

const CHECKS: readonly Check[] = [
  // Texts that were never meant as texts, and that visitors would see.
  ofText('HTML tags in a text, which visitors would see', /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i),
  ofText('HTML entities in a text, such as &amp;', /&(#\d+|#x[\da-f]+|[a-z]+\d*);/i),
  ofText(
    'a text that was decoded wrongly, such as DeiÃ',
    /\ufffd|[ÃÂ][\u0080-\u00bf‚-™]|\p{Ll}Ã(\s|$)|â€/u,
  ),
  ofText(
    'a word of a program as a text, such as NULL',
    /^\s*(null|undefined|nan|\[object \w+\])\s*$/i,
  ),
  ofText('Markdown in a text', /\*\*\S[^*]*\*\*|^#{1,6} \S|\[[^[\]\n]+\]\(https?:[^[)]+\)/m),
  ofText('a document as a text', /^\s*\{\s*"type"\s*:\s*"doc"/),
  // Google Sheets shows `Loading...` until a formula has its value.
  is('the error or the placeholder of a formula as a text', (listing) =>
    listTexts(listing).some((text) => isFormulaError(text) || /^\p{Lu}\p{Ll}+\.\.\.$/u.test(text)),
  ),
  ofShown(
    'public without a photo',
    ({ gallery, hero_image }) => gallery.length === 0 && hero_image === null,
  ),
  ofShown(
    'public without a hero image',
    ({ gallery, hero_image }) => gallery.length > 0 && hero_image === null,
  ),
  ofShown('public without a title', ({ title }) => Object.keys(title).length === 0),
  ofShown('public without a location', ({ location }) => location === null),
  is('a gallery without any alt text', ({ photos }) => {
    const shown = photos.filter(({ web_visible }) => web_visible);
    return shown.length > 0 && shown.every(({ alt }) => Object.keys(alt).length === 0);
  }),
  is('a latitude without a longitude, or the reverse', ({ latitude, longitude }) => {
    return (latitude === null) !== (longitude === null);
  }),
  is('the coordinates 0,0', ({ latitude, longitude }) => latitude === 0 && longitude === 0),
  ofAddress('a photo or video whose address is a page and no file', findPage),
  ofAddress('a photo or video in a form that browsers do not show', ({ pathname }) => {
    return /\.(heic|heif|pdf|tiff?|psd|cr2|dng)$/i.exec(pathname)?.[0];
  }),
  ofAddress('a photo or video whose address expires', ({ searchParams }) =>
    // Of signed addresses at S3, Google and Azure, and of older ones.
    [...searchParams.keys()].find((name) => /^(x-(amz|goog)-expires|expires|se)$/i.test(name)),
  ),
  ofAddress('a photo or video at http:, which a page at https: blocks', ({ protocol, hostname }) =>
    protocol === 'http:' ? hostname : undefined,
  ),
  { cause: 'a number that changes by a factor of ten or more', find: findOtherScales },
  { cause: 'latitude and longitude that seem swapped', find: findSwapped },
  {
    cause: 'coordinates more than 50 km from before',
    find: (now, old) => (findSwapped(now, old).length > 0 ? [] : findMoved(now, old)),
  },
  {
    cause: 'another hid',
    find: ({ hid }, old) =>
      old === undefined || old.hid === null || old.hid === hid
        ? []
        : [`${old.hid} → ${hid ?? 'none'}`],
  },
];

/** Returns what is found in the listing, and was not in the stored one. */
export function findWarnings(now: Source, old?: Source): Finding[] {
  return CHECKS.flatMap(({ cause, find }) => {
    const before = old === undefined ? [] : find(old);
    const found = [...new Set(find(now, old))].filter((each) => !before.includes(each));
    if (found.length === 0) return [];
    return [{ cause: `${cause}:`, example: `${now.slug} ${found.join(', ')}`.trim() }];
  });
}

function is(cause: string, isFound: (listing: Source) => boolean): Check {
  return { cause, find: (listing) => (isFound(listing) ? [''] : []) };
}

function ofText(cause: string, unintended: RegExp): Check {
  return is(cause, (listing) => listTexts(listing).some((text) => unintended.test(text)));
}

/** A hidden listing shows nothing. */
function ofShown(cause: string, isFound: (shown: Property) => boolean): Check {
  return is(cause, (listing) => {
    const shown = render(listing, '');
    return shown !== null && isFound(shown);
  });
}

/** `find` returns what to show of an address, e.g. its host. */
function ofAddress(
  cause: string,
  find: (url: URL, kind: 'photo' | 'video') => string | undefined,
): Check {
  return {
    cause,
    find: ({ photos, videos }) => [
      ...photos.flatMap(({ url }) => find(new URL(url), 'photo') ?? []),
      ...videos.flatMap(({ url }) => find(new URL(url), 'video') ?? []),
    ],
  };
}

const PAGE_HOSTS =
  /^((drive|docs|photos)\.google\.com|photos\.app\.goo\.gl|onedrive\.live\.com|1drv\.ms|[\w-]+\.sharepoint\.com|(www\.)?icloud\.com|we\.tl|wetransfer\.com|my\.matterport\.com|([\w-]+\.)?youtube(-nocookie)?\.com|youtu\.be|([\w-]+\.)?vimeo\.com)$/;

/** Returns the host if its links are for people who look at a page. */
function findPage({ hostname, pathname, searchParams }: URL, kind: 'photo' | 'video') {
  if (kind === 'video' && /\.(mp4|m4v|webm|mov|m3u8|ogv)$/i.test(pathname)) return undefined;
  const isDropboxFile = searchParams.has('raw') || searchParams.get('dl') === '1';
  const isPage =
    PAGE_HOSTS.test(hostname) || (/(^|\.)dropbox\.com$/.test(hostname) && !isDropboxFile);
  return isPage ? hostname : undefined;
}

const NUMBERS = [
  'bedrooms',
  'beds',
  'bathrooms',
  'bathtubs',
  'capacity',
  'size',
  'price_from',
  'weeks_per_year',
] as const;
const FACTOR = 10;

function findOtherScales(now: Source, old?: Source): string[] {
  return NUMBERS.flatMap((name) => {
    const [was, is] = [old?.[name], now[name]];
    // No number is a multiple of zero.
    if (!was || !is) return [];
    return Math.max(was, is) < FACTOR * Math.min(was, is) ? [] : [`${name} ${was} → ${is}`];
  });
}

const FAR_KM = 50;
const KM_PER_DEGREE = 111;

function findMoved(now: Coordinates, old?: Coordinates): string[] {
  const km = movedKm(now, old);
  return km > FAR_KM ? [`${Math.round(km)} km`] : [];
}

function findSwapped({ latitude, longitude }: Source, old?: Source): string[] {
  const swapped = { latitude: longitude, longitude: latitude };
  const isNear = findMoved(swapped, old).length === 0;
  return isNear ? findMoved({ latitude, longitude }, old) : [];
}

type Coordinates = Pick<Source, 'latitude' | 'longitude'>;

/** Roughly: a degree of longitude is shorter towards the poles. 0 without both of them. */
function movedKm(to: Coordinates, from?: Coordinates): number {
  const numbers = [from?.latitude, from?.longitude, to.latitude, to.longitude];
  if (numbers.some((each) => each == null)) return 0;
  const [latitude = 0, longitude = 0, toLatitude = 0, toLongitude = 0] = numbers.map(Number);
  const east = (toLongitude - longitude) * Math.cos((latitude * Math.PI) / 180);
  return KM_PER_DEGREE * Math.hypot(toLatitude - latitude, east);
}

function listTexts(listing: Source): string[] {
  const { name, address, city, title, description, location_text, photos } = listing;
  const labels = listing.unique_features.map(({ label }) => label);
  const maps = [title, location_text, ...photos.map(({ alt }) => alt), ...labels];
  return [
    name,
    address ?? '',
    city ?? '',
    ...maps.flatMap((map) => Object.values(map)),
    ...Object.values(description).map(toPlainText),
  ];
}
