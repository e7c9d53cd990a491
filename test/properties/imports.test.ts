/** What each response of the feed shows after an import, in caches that had it before. */

import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { counting } from '../support/counting.ts';
import { freshAddress, sendWith } from '../support/http.ts';
import { fileOf, importInto, type Property, propertyOf } from '../support/node/listings-file.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WEB = '/api/v1/web';
const PATHS = [
  ...['/properties', '/properties?location=bay', '/property-cards', '/locations?locale=en'],
  ...['/properties/one', '/properties/one?locale=en', '/properties/two', '/properties/renamed'],
];
const NOT_FOUND = 'resource_missing';

let app: ReturnType<typeof createApp>;
let one: Property;
let two: Property;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  app = createApp();
  await env.DB.exec('DELETE FROM properties; DELETE FROM locations; DELETE FROM amenities');
  one = { ...propertyOf({ slug: 'one' }), location: 'bay', amenities: ['wifi'] };
  two = propertyOf({ slug: 'two', display_order: 1 });
  await importInto(env.DB, fileOf([one, two]));
});

afterEach(() => {
  vi.useRealTimers();
});

/** Returns the text of a response, the code alone of an error. */
async function read(path: string, bindings: Partial<Env> = {}): Promise<string> {
  const headers = { 'CF-Connecting-IP': freshAddress() };
  const changes = { ...bindings, FEED_CACHE_SECONDS: '60' };
  const response = await sendWith(changes, `${WEB}${path}`, { headers }, app);
  const text = await response.text();
  return response.status === 200 ? text : JSON.parse(text).error.code;
}

/** Reads all pages at a time after the start. */
async function readAll(seconds: number): Promise<string[]> {
  vi.setSystemTime(START + seconds * 1_000);
  const texts: string[] = [];
  for (const path of PATHS) texts.push(await read(path));
  return texts;
}

/** Returns the paths whose responses have the text. */
const having = (texts: readonly string[], text: string) =>
  PATHS.filter((_, index) => texts[index]?.includes(text));

const WITH_ONE = PATHS.filter((path) => !/two|renamed|locations/.test(path));

it.each<[string, () => object, string, string[]]>([
  ['a field', () => fileOf([{ ...one, name: 'Changed' }]), 'Changed', WITH_ONE],
  [
    'a location alone',
    () => ({ locations: fileOf([], { bay: 'Changed' }).locations }),
    'Changed',
    [...WITH_ONE.slice(0, 3), '/locations?locale=en', ...WITH_ONE.slice(3)],
  ],
  [
    'an amenity alone',
    () => ({ amenities: fileOf([], { wifi: 'Changed' }).amenities }),
    'Changed',
    WITH_ONE.filter((path) => path !== '/property-cards'),
  ],
  [
    'a new slug',
    () => fileOf([{ ...one, slug: 'renamed' }]),
    '"slug":"renamed"',
    [...WITH_ONE.slice(0, 3), '/properties/renamed'],
  ],
  [
    'a hidden listing',
    () => fileOf([{ ...one, status: 'hidden' }]),
    NOT_FOUND,
    ['/properties/one', '/properties/one?locale=en', '/properties/renamed'],
  ],
])(
  '%s is shown at once by fresh=true, and everywhere after FEED_CACHE_SECONDS',
  async (_, file, text, paths) => {
    await readAll(0);
    await importInto(env.DB, file());
    const first = paths.find((path) => !path.includes('?')) ?? '';
    expect(await read(`${first}?fresh=true`)).toContain(text);
    expect(having(await readAll(61), text)).toEqual(paths);
    expect((await readAll(61)).join()).not.toContain(
      text === NOT_FOUND ? one.id : 'nothing of this',
    );
  },
);

it('an import that the feed does not show raises no version: the caches stay valid', async () => {
  const before = await readAll(0);
  const photo = { id: crypto.randomUUID(), url: 'https://a.example.com/1.jpg', web_visible: false };
  const notShown = { ...photo, alt: {}, section: 'gallery', web_sort_order: 0 };
  const pool = { slug: 'pool', label: { en: 'Pool' } };
  await importInto(env.DB, fileOf([one, two]));
  await importInto(env.DB, { amenities: [pool], properties: [{ ...one, photos: [notShown] }] });
  vi.setSystemTime(START + 61_000);
  const { env: counted, costs } = counting(env);
  for (const [index, path] of PATHS.entries()) {
    expect(await read(path, counted)).toBe(before[index]);
  }
  expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 1 });
});
