/** Warnings about valid listings, which an editor should look at. They reject nothing. Pure. */

import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Source } from '../../../src/properties/source.ts';
import type { ListingChange } from './types.ts';

const HTML_TAG = /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i;
/** The pages of these sites are no video files. */
const VIDEO_PAGE =
  /^https?:\/\/(([\w-]+\.)?youtube(-nocookie)?\.com|youtu\.be|([\w-]+\.)?vimeo\.com)\//;
const VIDEO_FILE = /\.(mp4|m4v|webm|mov|m3u8|ogv)$/i;

/** Warning → whether it is about a listing. */
const CHECKS: Readonly<Record<string, (listing: Source) => boolean>> = {
  'HTML tags in a text, which visitors would see': (listing) =>
    listTexts(listing).some((text) => HTML_TAG.test(text)),
  'public without a photo': (listing) =>
    listing.status !== 'hidden' && photosOnWeb(listing).length === 0,
  'public without a hero image': ({ status, photos, hero_photo_id }) =>
    status !== 'hidden' &&
    photos.some(({ web_visible }) => web_visible) &&
    !photos.some(
      ({ id, section, web_visible }) => id === hero_photo_id || (web_visible && section === 'hero'),
    ),
  'public without a title': ({ status, title }) => status !== 'hidden' && isBlank(title),
  'public without a location': ({ status, location }) => status !== 'hidden' && location === null,
  'a gallery without any alt text': (listing) =>
    photosOnWeb(listing).length > 0 && photosOnWeb(listing).every(({ alt }) => isBlank(alt)),
  'a video address that is a page and no file': ({ videos }) =>
    videos.some(({ url }) => VIDEO_PAGE.test(url) && !VIDEO_FILE.test(new URL(url).pathname)),
};

const PRICE_FACTOR = 10;

export function findWarnings(listing: Source): string[] {
  return Object.keys(CHECKS).filter((warning) => CHECKS[warning]?.(listing));
}

/** Finds the warnings that an import causes. */
export function compareWarnings(
  old: Source | undefined,
  now: Source,
  takesHero: boolean,
): Pick<ListingChange, 'warnings' | 'isWarnedBefore'> {
  const before = old === undefined ? [] : findWarnings(old);
  const found = findWarnings(now);
  const warnings = found.filter((warning) => !before.includes(warning));
  if (takesHero) warnings.push('the first photo of the sheet is its hero photo now');
  const findings = warnings.map((warning) => ({ cause: `${warning}:`, example: now.slug }));
  if (old !== undefined && isOtherPrice(old.price_from, now.price_from)) {
    const example = `${old.slug} ${old.price_from} → ${now.price_from}`;
    findings.push({ cause: 'a price that changes by a factor of ten or more:', example });
  }
  if (old !== undefined && old.status !== 'hidden' && old.slug !== now.slug) {
    const example = `${old.slug} → ${now.slug}`;
    findings.push({ cause: 'another slug, and so another address:', example });
  }
  const isWarnedBefore = found.some((warning) => before.includes(warning));
  return { warnings: findings, isWarnedBefore };
}

function isOtherPrice(old: number | null, now: number | null): boolean {
  if (old === null || now === null || old === now) return false;
  return Math.max(old, now) >= PRICE_FACTOR * Math.min(old, now);
}

function listTexts(listing: Source): string[] {
  const { name, title, description, location_text, photos, unique_features } = listing;
  const maps = [title, location_text, ...photos.map(({ alt }) => alt)];
  const labels = unique_features.map(({ label }) => label);
  return [
    name,
    ...[...maps, ...labels].flatMap((map) => Object.values(map)),
    ...Object.values(description).map(toPlainText),
  ];
}

function photosOnWeb({ photos }: Source): Source['photos'] {
  return photos.filter(({ web_visible }) => web_visible);
}

function isBlank(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0;
}
