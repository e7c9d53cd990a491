/** Warnings about valid listings, which an editor should look at. They reject nothing. Pure. */

import { plainTextOf } from '../../src/properties/rich-text.ts';
import type { Source } from '../../src/properties/source.ts';

const HTML_TAG = /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i;
/** The pages of these sites are no video files. */
const VIDEO_PAGE =
  /^https?:\/\/(([\w-]+\.)?youtube(-nocookie)?\.com|youtu\.be|([\w-]+\.)?vimeo\.com)\//;
const VIDEO_FILE = /\.(mp4|m4v|webm|mov|m3u8|ogv)$/i;

/** Warning → whether it is about a listing. */
const CHECKS: Readonly<Record<string, (listing: Source) => boolean>> = {
  'HTML tags in a text, which visitors would see': (listing) =>
    textsOf(listing).some((text) => HTML_TAG.test(text)),
  'public without a photo': (listing) => isPublic(listing) && !listing.photos.some(isOnWeb),
  'public without a title': (listing) => isPublic(listing) && isBlank(listing.title),
  'public without a location': (listing) => isPublic(listing) && listing.location === null,
  'a gallery without any alt text': ({ photos }) =>
    photos.some(isOnWeb) && photos.filter(isOnWeb).every(({ alt }) => isBlank(alt)),
  'a video address that is a page and no file': ({ videos }) =>
    videos.some(({ url }) => VIDEO_PAGE.test(url) && !VIDEO_FILE.test(new URL(url).pathname)),
};

export function warningsOf(listing: Source): string[] {
  return Object.keys(CHECKS).filter((warning) => CHECKS[warning]?.(listing));
}

function textsOf({ name, title, description, location_text, photos, ...others }: Source): string[] {
  const maps = [title, location_text, ...photos.map(({ alt }) => alt)];
  const labels = others.unique_features.map(({ label }) => label);
  return [
    name,
    ...[...maps, ...labels].flatMap((map) => Object.values(map)),
    ...Object.values(description).map(plainTextOf),
  ];
}

function isPublic({ status }: Source): boolean {
  return status !== 'hidden';
}

function isOnWeb({ web_visible }: Source['photos'][number]): boolean {
  return web_visible;
}

function isBlank(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0;
}
