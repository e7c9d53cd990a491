/** Warns about values that are valid but probably wrong. A warning does not reject a file. */

import type { Property } from '../../../src/properties/openapi/property.ts';
import { render } from '../../../src/properties/render.ts';
import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Source } from '../../../src/properties/source.ts';
import { isFormulaError } from '../read/cells.ts';

export type Warning = {
  /** e.g. `title.fr of`, `label.es of amenity wifi, shown by`, `public without a photo:` */
  cause: string;
  /** The slug of a listing, followed by the changed value if the warning is about a change. */
  example: string;
};

type Check = {
  cause: string;
  /**
   * Returns a text for each occurrence, which the report prints after the slug. The text may be empty.
   * `old` is the stored listing, for checks that compare.
   */
  find: (now: Source, old?: Source) => string[];
};

const CHECKS: readonly Check[] = [
  checkTexts('HTML tags in a text, which visitors would see', /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i),
  checkTexts('HTML entities in a text, such as &amp;', /&(#\d+|#x[\da-f]+|[a-z]+\d*);/i),
  checkTexts(
    'a text that was decoded wrongly, such as DeiÃ',
    /\ufffd|[ÃÂ][\u0080-\u00bf‚-™]|\p{Ll}Ã(\s|$)|â€|[├┬]\S/u,
  ),
  checkTexts(
    'a word of a program as a text, such as NULL',
    /^\s*(null|undefined|nan|\[object \w+\])\s*$/i,
  ),
  checkTexts('Markdown in a text', /\*\*\S[^*]*\*\*|^#{1,6} \S|\[[^[\]\n]+\]\(https?:[^[)]+\)/m),
  checkTexts('a document as a text', /^\s*\{\s*"type"\s*:\s*"doc"/),
  // Google Sheets shows `Loading...` until a formula has its value.
  check('the error or the placeholder of a formula as a text', (listing) =>
    listTexts(listing).some((text) => isFormulaError(text) || /^\p{Lu}\p{Ll}+\.\.\.$/u.test(text)),
  ),
  checkPage(
    'public without a photo',
    ({ gallery, hero_image }) => gallery.length === 0 && hero_image === null,
  ),
  checkPage(
    'public without a hero image',
    ({ gallery, hero_image }) => gallery.length > 0 && hero_image === null,
  ),
  checkPage('public without a title', ({ title }) => Object.keys(title).length === 0),
  checkPage('public without a location', ({ location }) => location === null),
  check('a gallery without any alt text', ({ photos }) => {
    const visible = photos.filter(({ web_visible }) => web_visible);
    return visible.length > 0 && visible.every(({ alt }) => Object.keys(alt).length === 0);
  }),
  check('a latitude without a longitude, or the reverse', ({ latitude, longitude }) => {
    return (latitude === null) !== (longitude === null);
  }),
  check('the coordinates 0,0', ({ latitude, longitude }) => latitude === 0 && longitude === 0),
  checkUrls('a photo or video whose address is a page, not a file', findPage),
  checkUrls('a photo or video in a form that browsers do not show', ({ pathname }) => {
    return /\.(heic|heif|pdf|tiff?|psd|cr2|dng)$/i.exec(pathname)?.[0];
  }),
  checkUrls('a photo or video whose address expires', ({ searchParams }) =>
    // Parameters of signed URLs of S3, Google and Azure, including older forms.
    [...searchParams.keys()].find((name) => /^(x-(amz|goog)-expires|expires|se)$/i.test(name)),
  ),
  checkUrls('a photo or video at http:, which a page at https: blocks', ({ protocol, hostname }) =>
    protocol === 'http:' ? hostname : undefined,
  ),
  { cause: 'a number that changes by a factor of ten or more', find: findScaleChanges },
  { cause: 'latitude and longitude that seem swapped', find: findSwapped },
  {
    cause: 'coordinates more than 50 km from before',
    find: (now, old) => (findSwapped(now, old).length > 0 ? [] : findMovedFar(now, old)),
  },
  {
    cause: 'a changed hid',
    find: ({ hid }, old) =>
      old === undefined || old.hid === null || old.hid === hid
        ? []
        : [`${old.hid} → ${hid ?? 'none'}`],
  },
];

/** Returns the warnings about a listing that do not apply to the stored one. */
export function findWarnings(now: Source, old?: Source): Warning[] {
  return CHECKS.flatMap(({ cause, find }) => {
    const earlier = old === undefined ? [] : find(old);
    const occurrences = [...new Set(find(now, old))].filter((text) => !earlier.includes(text));
    if (occurrences.length === 0) return [];
    return [{ cause: `${cause}:`, example: `${now.slug} ${occurrences.join(', ')}`.trim() }];
  });
}

function check(cause: string, hasProblem: (listing: Source) => boolean): Check {
  return { cause, find: (listing) => (hasProblem(listing) ? [''] : []) };
}

function checkTexts(cause: string, unintended: RegExp): Check {
  return check(cause, (listing) => listTexts(listing).some((text) => unintended.test(text)));
}

/** Checks the rendered page of a listing. A hidden listing has no page. */
function checkPage(cause: string, hasProblem: (page: Property) => boolean): Check {
  return check(cause, (listing) => {
    const page = render(listing, '');
    return page !== null && hasProblem(page);
  });
}

/**
 * Checks the URLs of photos and videos. `find` returns the part that the report shows, e.g. the
 * host.
 */
function checkUrls(
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

/** Returns the host if the URL leads to a web page about a file, not to the file itself. */
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

function findScaleChanges(now: Source, old?: Source): string[] {
  return NUMBERS.flatMap((name) => {
    const [before, after] = [old?.[name], now[name]];
    // A change from or to zero has no factor.
    if (!before || !after) return [];
    const isSimilar = Math.max(before, after) < FACTOR * Math.min(before, after);
    return isSimilar ? [] : [`${name} ${before} → ${after}`];
  });
}

const FAR_KM = 50;
const KM_PER_DEGREE = 111;

function findMovedFar(now: Coordinates, old?: Coordinates): string[] {
  const km = distanceKm(now, old);
  return km > FAR_KM ? [`${Math.round(km)} km`] : [];
}

function findSwapped({ latitude, longitude }: Source, old?: Source): string[] {
  const swappedPlace = { latitude: longitude, longitude: latitude };
  const isNear = findMovedFar(swappedPlace, old).length === 0;
  return isNear ? findMovedFar({ latitude, longitude }, old) : [];
}

type Coordinates = Pick<Source, 'latitude' | 'longitude'>;

/** Returns the approximate distance, or 0 if either position is incomplete. */
function distanceKm(to: Coordinates, from?: Coordinates): number {
  const numbers = [from?.latitude, from?.longitude, to.latitude, to.longitude];
  if (numbers.some((number) => number == null)) return 0;
  const [latitude = 0, longitude = 0, toLatitude = 0, toLongitude = 0] = numbers.map(Number);
  // A degree of longitude is shorter towards the poles.
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
