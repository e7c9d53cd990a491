/** Warnings about valid listings, which an editor should look at. They reject nothing. Pure. */

import { findMissing } from '../../../src/development/preview/missing.ts';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { render } from '../../../src/properties/render.ts';
import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Source } from '../../../src/properties/source.ts';
import type { Finding } from './types.ts';

/** Texts that were never meant as texts, and that visitors would see. */
const UNINTENDED: readonly [warning: string, text: RegExp][] = [
  ['HTML tags in a text, which visitors would see', /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i],
  ['HTML entities in a text, such as &amp;', /&(#\d+|#x[\da-f]+|[a-z]+\d*);/i],
  [
    'a text that was decoded wrongly, such as DeiÃ',
    /\ufffd|[ÃÂ][\u0080-\u00bf‚-™]|\p{Ll}Ã(\s|$)|â€/u,
  ],
  ['a word of a program as a text, such as NULL', /^\s*(null|undefined|nan|\[object \w+\])\s*$/i],
  ['Markdown in a text', /\*\*\S[^*]*\*\*|^#{1,6} \S|\[[^[\]\n]+\]\(https?:[^[)]+\)/m],
  ['a document as a text', /^\s*\{\s*"type"\s*:\s*"doc"/],
];

/** e.g. `#N/A`, `#DIV/0!`, `#NAME?`, `#NV`, `#¡REF!`, `#BEZUG!`, `Err:502` */
const FORMULA_ERROR = /^(#(N\/[AD]|NV|[¡¿]?(\p{Lu}{3,}|DIV\/0)[!?])|Err:\d{3})$/u;

/** Hosts whose links are pages for people, and no files. */
const PAGE_HOSTS =
  /^((drive|docs|photos)\.google\.com|photos\.app\.goo\.gl|onedrive\.live\.com|1drv\.ms|[\w-]+\.sharepoint\.com|(www\.)?icloud\.com|we\.tl|wetransfer\.com|my\.matterport\.com|([\w-]+\.)?youtube(-nocookie)?\.com|youtu\.be|([\w-]+\.)?vimeo\.com)$/;
const VIDEO_FILE = /\.(mp4|m4v|webm|mov|m3u8|ogv)$/i;
const SHOWN_BY_NO_BROWSER = /\.(heic|heif|pdf|tiff?|psd|cr2|dng)$/i;
/** Of signed addresses at S3, Google and Azure, and of older ones. */
const EXPIRES = /^(x-amz-expires|x-goog-expires|expires|se)$/i;

const FACTOR = 10;
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
const FAR_KM = 50;
const KM_PER_DEGREE = 111;

function findUnintended(listing: Source): string[] {
  const texts = listTexts(listing);
  return UNINTENDED.flatMap(([warning, unintended]) =>
    texts.some((text) => unintended.test(text)) ? [warning] : [],
  );
}

/** The warnings about the texts of a listing that is rejected. */
export function findTextWarnings(listing: Source): Finding[] {
  return findUnintended(listing).map((warning) => ({
    cause: `${warning}:`,
    example: listing.slug,
  }));
}

export function findWarnings(listing: Source): string[] {
  const { photos, videos, latitude, longitude } = listing;
  const shown = render(listing, '');
  const missing = new Set(shown && findMissing(shown).map(({ id }) => id));
  const onWeb = photos.filter(({ web_visible }) => web_visible);
  const checks: [warning: string, isFound: boolean][] = [
    // In a sheet, it is a problem.
    [
      'the error of a formula as a text',
      listTexts(listing).some((text) => FORMULA_ERROR.test(text)),
    ],
    ['public without a photo', missing.has('photo')],
    ['public without a hero image', missing.has('cover')],
    ['public without a title', LOCALES.every((locale) => missing.has(`title.${locale}`))],
    ['public without a location', missing.has('location')],
    ['a gallery without any alt text', onWeb.length > 0 && onWeb.every(({ alt }) => isEmpty(alt))],
    [
      'a latitude without a longitude, or the reverse',
      (latitude === null) !== (longitude === null),
    ],
    ['the coordinates 0,0', latitude === 0 && longitude === 0],
  ];
  const addresses = [
    ...photos.flatMap(({ url }) => addressFault(url, 'photo') ?? []),
    ...videos.flatMap(({ url }) => addressFault(url, 'video') ?? []),
  ];
  const found = checks.flatMap(([warning, isFound]) => (isFound ? [warning] : []));
  return [...findUnintended(listing), ...found, ...new Set(addresses)];
}

/** Returns why other people cannot see what the address leads to. */
function addressFault(address: string, kind: 'photo' | 'video'): string | undefined {
  const { protocol, hostname, pathname, searchParams } = new URL(address);
  const isFile = kind === 'video' && VIDEO_FILE.test(pathname);
  const isDropboxPage =
    /(^|\.)dropbox\.com$/.test(hostname) &&
    !searchParams.has('raw') &&
    searchParams.get('dl') !== '1';
  if (!isFile && (PAGE_HOSTS.test(hostname) || isDropboxPage)) {
    return `a ${kind} at ${hostname}, whose links are pages and no files`;
  }
  const [, ending] = SHOWN_BY_NO_BROWSER.exec(pathname) ?? [];
  if (ending !== undefined)
    return `a ${kind} that is a .${ending} file, which browsers do not show`;
  const expiring = [...searchParams.keys()].find((name) => EXPIRES.test(name));
  if (expiring !== undefined) return `a ${kind} address that expires (${expiring})`;
  return protocol === 'http:'
    ? `a ${kind} address with http:, which a page with https: blocks`
    : undefined;
}

/** Finds the warnings that an import causes. */
export function compareWarnings(old: Source | undefined, now: Source) {
  const before = old === undefined ? [] : findWarnings(old);
  const found = findWarnings(now);
  const warnings = found.filter((warning) => !before.includes(warning));
  const findings = warnings.map((warning) => ({ cause: `${warning}:`, example: now.slug }));
  if (old !== undefined) findings.push(...largeChanges(old, now), ...lostMarkup(old, now));
  if (old?.status === 'hidden' && now.status !== 'hidden') {
    findings.push({ cause: 'hidden before, and public again:', example: now.slug });
  }
  const isWarnedBefore = found.some((warning) => before.includes(warning));
  return { warnings: findings, isWarnedBefore };
}

/** A rich text that a plain one replaces. */
function lostMarkup(old: Source, { description, slug: example }: Source): Finding[] {
  return LOCALES.flatMap((locale) => {
    const isLost =
      typeof old.description[locale] === 'object' && typeof description[locale] === 'string';
    return isLost ? [{ cause: `description.${locale} loses its formatting:`, example }] : [];
  });
}

/** Changes that are rarely meant. */
function largeChanges(old: Source, now: Source): Finding[] {
  const changes: Finding[] = NUMBERS.flatMap((name) => {
    const [was, is] = [old[name], now[name]];
    if (was === null || is === null || !isOtherScale(was, is)) return [];
    const cause = 'a number that changes by a factor of ten or more:';
    return [{ cause, example: `${old.slug} ${name} ${was} → ${is}` }];
  });
  const moved = movedKm(old, now);
  if (moved > FAR_KM) {
    const isSwapped = movedKm(old, { latitude: now.longitude, longitude: now.latitude }) <= FAR_KM;
    const cause = isSwapped
      ? 'latitude and longitude that seem swapped:'
      : 'coordinates more than 50 km from before:';
    changes.push({ cause, example: `${old.slug} ${Math.round(moved)} km` });
  }
  if (old.hid !== null && old.hid !== now.hid) {
    changes.push({
      cause: 'another hid:',
      example: `${old.slug} ${old.hid} → ${now.hid ?? 'none'}`,
    });
  }
  if (old.status !== 'hidden' && old.slug !== now.slug) {
    const example = `${old.slug} → ${now.slug}`;
    changes.push({ cause: 'another slug, and so another address:', example });
  }
  return changes;
}

function isOtherScale(was: number, is: number): boolean {
  return was !== is && Math.max(was, is) >= FACTOR * Math.min(was, is);
}

type Coordinates = Pick<Source, 'latitude' | 'longitude'>;

/** Roughly: a degree of longitude is shorter towards the poles. 0 without both of them. */
function movedKm(from: Coordinates, to: Coordinates): number {
  const numbers = [from.latitude, from.longitude, to.latitude, to.longitude];
  const [latitude = 0, longitude = 0, toLatitude = 0, toLongitude = 0] = numbers.map(Number);
  if (numbers.includes(null)) return 0;
  const east = (toLongitude - longitude) * Math.cos((latitude * Math.PI) / 180);
  return KM_PER_DEGREE * Math.hypot(toLatitude - latitude, east);
}

function listTexts(listing: Source): string[] {
  const { name, address, city, title, description, location_text, photos, unique_features } =
    listing;
  const maps = [title, location_text, ...photos.map(({ alt }) => alt)];
  const labels = unique_features.map(({ label }) => label);
  return [
    name,
    address ?? '',
    city ?? '',
    ...[...maps, ...labels].flatMap((map) => Object.values(map)),
    ...Object.values(description).map(toPlainText),
  ];
}

function isEmpty(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0;
}
