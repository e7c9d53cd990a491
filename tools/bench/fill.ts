/** Starts the service with listings of about 5 KB on the wire, and with events. */

import type { Source } from '../../src/properties/source.ts';
import { migrate } from '../database/migrations.ts';
import { rowOf } from '../import/plan/rows.ts';
import { source } from '../import/read/listing-schemas.ts';
import { type Database, type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';
import { API_KEY, EVENT, PUBLIC_SITE_URL } from './scenarios.ts';

const ROWS_PER_STATEMENT = 5_000;
/** This many listings are stored whole; the database clones the others from them. */
const PATTERN = 40;
const LOCATIONS = ['ibiza', 'aran', 'menorca', 'cerdanya'] as const;
const STATUSES = ['listed', 'listed', 'listed', 'coming_soon', 'sold_out'] as const;
const SENTENCE =
  'The terrace opens to the bay, and the kitchen was made new by the village joiner. ';

/** Starts a script with a new database of `listings` listings. `vars` override vars. */
export async function startWithListings(
  script: string,
  listings: number,
  vars: Readonly<Record<string, string>> = {},
  options?: RuntimeOptions,
): Promise<Runtime> {
  const runtime = await startRuntime(script, { PUBLIC_SITE_URL, API_KEY, ...vars }, options);
  await migrate(runtime.database);
  await fillListings(runtime.database, listings);
  return runtime;
}

/** Fills up to `count` listings. A clone has a document but no source: it can only be read. */
export async function fillListings(database: Database, count: number): Promise<void> {
  const query = database.prepare('SELECT count(*) AS n FROM properties');
  const stored = (await query.first<number>('n')) ?? 0;
  if (stored === 0) await storePattern(database);
  const clones = `
    INSERT INTO properties
      (id, slug, status, type, location_id, display_order, source, card, document, rendering)
    SELECT printf('00000000-0000-4000-8000-%012x', i), 'home-' || i, p.status, p.type,
      p.location_id, i, '{}', json_set(p.card, '$.id', printf('00000000-0000-4000-8000-%012x', i)),
      json_set(p.document, '$.display_order', i,
        '$.id', printf('00000000-0000-4000-8000-%012x', i)), p.rendering
    FROM n JOIN properties AS p ON p.slug = 'home-' || (i % ${PATTERN})`;
  await insertRange(database, Math.max(stored, PATTERN), count, clones);
}

/** Adds `count` events of a hundred thousand aggregates. */
export async function fillEvents(database: Database, count: number): Promise<void> {
  const events = `
    INSERT INTO events
      (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, payload, created_at)
    SELECT printf('id-%d', i), printf('key-%d', i), printf('%064d', i), printf('%036d', i),
      ?3, ?4, 'filler-' || (i % 100000), ?5, i FROM n`;
  const payload = JSON.stringify(EVENT.payload);
  await insertRange(database, 0, count, events, EVENT.event_type, EVENT.aggregate_type, payload);
}

/** Runs a statement for the numbers from `from` to below `count`, which it selects from `n`. */
async function insertRange(
  database: Database,
  from: number,
  count: number,
  statement: string,
  ...values: readonly string[]
): Promise<void> {
  const numbers = `WITH RECURSIVE n(i) AS (
    SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)`;
  for (let start = from; start < count; start += ROWS_PER_STATEMENT) {
    const end = Math.min(start + ROWS_PER_STATEMENT, count);
    await database
      .prepare(numbers + statement)
      .bind(start, end, ...values)
      .run();
  }
}

async function storePattern(database: Database): Promise<void> {
  const indexes = Array.from({ length: PATTERN }, (_, index) => index);
  const rows = indexes.map((index) => rowOf(listingAt(index), PUBLIC_SITE_URL).columns);
  const names = Object.keys(rows[0] ?? {});
  const statement = `INSERT INTO properties (${names.join(', ')})
    SELECT ${names.map((name) => `r.value->>'${name}'`).join(', ')} FROM json_each(?) AS r`;
  await database.prepare(statement).bind(JSON.stringify(rows)).run();
}

/** The listing at `index` in the feed's order. */
function listingAt(index: number): Source {
  const place = Math.floor(index / 10) % LOCATIONS.length;
  const slug = LOCATIONS[place] ?? '';
  return source.parse({
    id: idOf(0, index),
    slug: `home-${index}`,
    name: `Home ${index}`,
    status: STATUSES[index % STATUSES.length],
    type: index % 2 === 0 ? 'beach' : 'ski',
    title: inEachLanguage(`Home ${index} by the sea`),
    description: inEachLanguage(SENTENCE.repeat(10)),
    photos: Array.from({ length: 10 }, (_, photo) => ({
      id: idOf(1 + photo, index),
      url: `https://images.example.com/home-${index}/${photo}.jpg`,
      alt: inEachLanguage(`View ${photo}`),
      section: photo === 0 ? 'hero' : 'gallery',
      web_visible: true,
      web_sort_order: photo,
    })),
    location: { id: idOf(20, place), slug, name: inEachLanguage(slug) },
    amenities: ['pool', 'sauna', 'garden'].map((slug) => ({ slug, label: inEachLanguage(slug) })),
    display_order: index,
  });
}

function idOf(kind: number, index: number): string {
  const [first, last] = [kind.toString(16).padStart(8, '0'), index.toString(16).padStart(12, '0')];
  return `${first}-0000-4000-8000-${last}`;
}

function inEachLanguage(text: string) {
  return { en: text, es: text, fr: text };
}
