/** Stages an import: writes its rows into the staging table, which no reader sees. */

import { splitIntoBatches } from '../../database/tables.ts';
import type { Effect, ImportOptions } from '../plan/types.ts';

const STAGE = `
  INSERT INTO import_staging (import_id, kind, key, row, source, document, card)
  SELECT ?2, new.value->>'kind', new.value->>'key', new.value->>'row', new.value->>'source',
    new.value->>'document', new.value->>'card'
  FROM json_each(?1) AS new`;

export type Staged = { importId: string; rows: number };

/** Stages the rows of an import. */
export async function stage(
  { records, listings }: Effect,
  newestChange: number,
  { database, onProgress }: ImportOptions,
): Promise<Staged> {
  const importId = crypto.randomUUID();
  let rows = 0;
  const all = stagedRows(records, listings, newestChange, Date.now());
  try {
    for (const batch of splitIntoBatches(all, (json) => Buffer.byteLength(json))) {
      await database.prepare(STAGE).bind(`[${batch.join()}]`, importId).run();
      rows += batch.length;
      const done = rows - records.length;
      if (done > 0) onProgress('staged', done, listings.length);
    }
  } catch (error) {
    await unstage(database, importId);
    throw error;
  }
  return { importId, rows };
}

/** Removes the rows of an import that failed, which would keep a full disk full. */
export async function unstage(database: D1Database, importId: string): Promise<void> {
  const remove = database.prepare('DELETE FROM import_staging WHERE import_id = ?').bind(importId);
  // The import's own fault is reported.
  await remove.run().catch(() => undefined);
}

/** Changes follow `newestChange`, removals first: a slug is free before it is taken. */
function* stagedRows(
  records: Effect['records'],
  listings: Effect['listings'],
  newestChange: number,
  now: number,
): Generator<string> {
  // A record without a value is removed.
  for (const { kind, key, now: row = {} } of records) yield stagedRow(kind, key, row);
  const { removals = [], others = [] } = Object.groupBy(listings, ({ listing }) =>
    listing.status === 'hidden' ? 'removals' : 'others',
  );
  let place = newestChange;
  for (const { columns, latest } of [...removals, ...others]) {
    const { isNew, ...last } = latest;
    if (isNew) place += 1;
    const change = isNew ? { ...last, change_seq: place, changed_at: now } : last;
    const { id, source, document, card, ...row } = columns;
    // Nested, because escaped texts of a large listing would exceed D1's bound.
    const texts = `,"source":${source},"document":${document},"card":${card}`;
    yield stagedRow('listing', id, { ...row, ...change }, texts);
  }
}

function stagedRow(kind: string, key: string, row: object, texts = ''): string {
  return `{"kind":"${kind}","key":${JSON.stringify(key)},"row":${JSON.stringify(row)}${texts}}`;
}
