/** Finds the aggregates of a guest, by a text of their events, and those that a misspelt name means. */

import * as z from 'zod';
import { nextLook, pageEnd } from '../database/tables.ts';
import type { Aggregate } from './erase.ts';

/** Of payloads that a call searches. */
const BYTES_PER_CALL = 20_000_000;
const FIRST_LOOK = 10_000;
/** About two minutes, or 3 GB of payloads. */
const MAX_CALLS = 150;
const NEWEST_EVENTS = 10_000;

export type Found = Aggregate & { events: number };
/** `upTo` is the `seq` of the last event that was searched. `newest` is that of the last one. */
export type Search = { found: Found[]; upTo: number; newest: number };

const foundRows = z.array(z.object({ type: z.string(), id: z.string(), events: z.int() }));

/**
 * Searches the payloads and ids after a `seq`, in order, without regard to the case of letters. Calls
 * `onProgress` after each call, so that an interrupted search can say how far it came.
 */
export async function findText(
  database: D1Database,
  text: string,
  start: number,
  onProgress: (search: Search) => void,
): Promise<Search> {
  const end = pageEnd('events', ['payload'], BYTES_PER_CALL);
  const page = database.prepare(`SELECT max(seq) AS "end", count(*) AS events FROM events
    WHERE seq > ?1 AND seq <= ${end}`);
  const match = database.prepare(`
    SELECT aggregate_type AS type, aggregate_id AS id, count(*) AS events FROM events
    WHERE seq > ?1 AND seq <= ${end} AND EXISTS (
      SELECT 1 FROM json_each(?4)
      WHERE instr(lower(payload), value) OR instr(lower(aggregate_id), value))
    GROUP BY aggregate_type, aggregate_id ORDER BY min(seq)`);
  const newest = await database.prepare('SELECT max(seq) AS newest FROM events').first('newest');
  const search: Search = { found: [], upTo: start, newest: z.int().catch(0).parse(newest) };
  const wanted = JSON.stringify(spellings(text));
  let look = FIRST_LOOK;
  for (let call = 0; call < MAX_CALLS && search.upTo < search.newest; call += 1) {
    const range = [search.upTo, search.newest, look];
    const [searched, matches] = await database.batch([
      page.bind(...range),
      match.bind(...range, wanted),
    ]);
    const read = z.object({ end: z.int().nullable(), events: z.int() });
    const { end: last, events } = read.parse(searched?.results[0]);
    search.upTo = last ?? search.newest;
    for (const { type, id, events } of foundRows.parse(matches?.results)) {
      const known = search.found.find((each) => each.type === type && each.id === id);
      if (known) known.events += events;
      else search.found.push({ type, id, events });
    }
    onProgress(search);
    look = nextLook(look, events);
  }
  return search;
}

/** As payloads may have the text. SQLite lowers the letters of ASCII only. */
function spellings(text: string): string[] {
  const cases = [text, text.toLowerCase(), text.toUpperCase()];
  const all = cases.flatMap((each) => [each.normalize('NFC'), each.normalize('NFD')]);
  const stored = all.map((each) => JSON.stringify(each).slice(1, -1));
  return [...new Set(stored.map((each) => each.replaceAll(/[A-Z]+/g, (A) => A.toLowerCase())))];
}

/**
 * Returns the aggregates whose id differs in its case only, of any type: one look through the index
 * of ids. And the types of the newest events.
 */
export async function findNear(database: D1Database, { id }: Aggregate) {
  const sameId = database.prepare(
    `SELECT aggregate_type AS type, aggregate_id AS id, count(*) AS events FROM events
     WHERE aggregate_id IN (SELECT aggregate_id FROM events WHERE aggregate_id = ?1 COLLATE NOCASE)
     GROUP BY aggregate_type, aggregate_id LIMIT 10`,
  );
  const types = database.prepare(
    `SELECT DISTINCT aggregate_type AS type FROM
       (SELECT aggregate_type FROM events ORDER BY seq DESC LIMIT ${NEWEST_EVENTS}) ORDER BY type`,
  );
  const known = await types.all<{ type: string }>();
  return {
    aggregates: foundRows.parse((await sameId.bind(id).all()).results),
    types: known.results.map(({ type }) => type),
  };
}
