/** Warnings about valid listings, which an editor should look at. They reject nothing. Pure. */

import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Source } from '../../../src/properties/source.ts';

const HTML_TAG = /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i;
/** The pages of these sites are no video files. */
const VIDEO_PAGE =
  /^https?:\/\/(([\w-]+\.)?youtube(-nocookie)?\.com|youtu\.be|([\w-]+\.)?vimeo\.com)\//;
const VIDEO_FILE = /\.(mp4|m4v|webm|mov|m3u8|ogv)$/i;

const PRICE_FACTOR = 10;

export function findWarnings(listing: Source): string[] {
  const { status, photos, hero_photo_id, videos } = listing;
  const isPublic = status !== 'hidden';
  const onWeb = photos.filter(({ web_visible }) => web_visible);
  const hasHero =
    photos.some(({ id }) => id === hero_photo_id) || onWeb.some((each) => each.section === 'hero');
  const hasTags = listTexts(listing).some((text) => HTML_TAG.test(text));
  const isPage = (url: string) => VIDEO_PAGE.test(url) && !VIDEO_FILE.test(new URL(url).pathname);
  const checks: [warning: string, isFound: boolean][] = [
    ['HTML tags in a text, which visitors would see', hasTags],
    ['public without a photo', isPublic && onWeb.length === 0],
    ['public without a hero image', isPublic && onWeb.length > 0 && !hasHero],
    ['public without a title', isPublic && isBlank(listing.title)],
    ['public without a location', isPublic && listing.location === null],
    ['a gallery without any alt text', onWeb.length > 0 && onWeb.every(({ alt }) => isBlank(alt))],
    ['a video address that is a page and no file', videos.some(({ url }) => isPage(url))],
  ];
  return checks.flatMap(([warning, isFound]) => (isFound ? [warning] : []));
}

/** Finds the warnings that an import causes. */
export function compareWarnings(old: Source | undefined, now: Source, takesHero: boolean) {
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

function isBlank(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0;
}
