/** The ledger of erasures, played on a stream that is longer than one answer of D1. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { databaseOver } from '../../../tools/cloudflare/rest-database.ts';
import { nameOf, playLedger } from '../../../tools/erasure/ledger.ts';
import { Database } from '../../support/cloudflare/database.ts';

const LINEAGE = '5'.repeat(32);

const query = z.object({ sql: z.string(), params: z.array(z.string()) });

it('is played on a long stream in pages of a bounded size, which leave out no event', async () => {
  const store = new Database('long');
  store.migrate();
  const insert = store.sqlite.prepare(
    `INSERT INTO events (seq, id, type, aggregate_type, aggregate_id, created_at, payload)
     VALUES (?, ?, 'booking.created', 'booking', ?, 1000, '{"note":"personal"}')`,
  );
  for (const seq of [-2, 0, 1, 2, 3, 9, 10]) insert.run(seq, `e${seq}`, `guest${seq}`);
  const sizes: number[] = [];
  const database = databaseOver(async (schema, body) => {
    const { sql, params } = query.parse(body);
    const results = store.sqlite.prepare(sql).all(...params);
    sizes.push(results.length);
    return schema.parse([{ results }]);
  });
  const erasureOf = (id: string) => ({
    lineage: LINEAGE,
    aggregate: nameOf({ type: 'booking', id }),
    last_event_id: 'not-restored',
    erased_at: '1970-01-01T00:00:05.000Z',
  });
  const ledger = ['guest-2', 'guest1', 'guest2', 'guest10', 'nobody'].map(erasureOf);
  for (const [eventsPerPage, erased] of [
    [3, 4],
    [7, 0],
  ] as const) {
    sizes.length = 0;
    expect(await playLedger(database, LINEAGE, ledger, { eventsPerPage })).toBe(erased);
    expect(Math.max(...sizes)).toBe(eventsPerPage);
  }
  const left = store.rows('SELECT id FROM events WHERE erased_at IS NULL ORDER BY seq');
  expect(left).toEqual([{ id: 'e0' }, { id: 'e3' }, { id: 'e9' }]);
  store.sqlite.close();
});
