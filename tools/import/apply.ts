/**
 * Writes an import: its rows are staged batch by batch, and one transaction applies them all. Each applied import
 * leaves its id as the `applied` row of the staging table. The transaction begins with a guard, which fails if this row
 * has changed since the import began, or if staged rows are missing.
 */

import { messageOf } from '../command-line/user-error.ts';
import { batchesOf } from '../database/tables.ts';
import type { Plan } from './plan.ts';
import type { Change, ListingRow } from './rows.ts';
import { type Catalogue, readState } from './store.ts';

export type Write = ListingRow & { change: Change };

const STAGE = `
  INSERT INTO import_staging (import_id, kind, key, row, source, document, card)
  SELECT ?2, new.value->>'kind', new.value->>'key', new.value->>'row', new.value->>'source',
    new.value->>'document', new.value->>'card'
  FROM json_each(?1) AS new`;

/** The guard's failure: a row of the staging table cannot be null. */
const GUARD_FAILURE = /NOT NULL constraint failed: import_staging\.row/;

const GUARD = `
  INSERT INTO import_staging (import_id, kind, key, row)
  SELECT ?1, 'guard', '', NULL
  WHERE (SELECT import_id FROM import_staging WHERE kind = 'applied') IS NOT ?2
     OR (SELECT count(*) FROM import_staging WHERE import_id = ?1) <> ?3`;

/** Stored records are deleted before the new ones are inserted, so that a slug may move from one record to another. */
const APPLY = [
  `DELETE FROM locations WHERE id IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'location')`,
  `DELETE FROM amenities WHERE slug IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'amenity')`,
  `DELETE FROM properties WHERE id IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'listing')`,
  `INSERT INTO locations (id, slug, name)
   SELECT key, row->>'slug', row->>'name'
   FROM import_staging WHERE import_id = ?1 AND kind = 'location'`,
  `INSERT INTO amenities (slug, label)
   SELECT key, row->>'label'
   FROM import_staging WHERE import_id = ?1 AND kind = 'amenity'`,
  `INSERT INTO properties (id, slug, status, type, location_id, display_order, rendering, source_hash,
                           change_seq, changed_at, removed_slug, former_slugs, card, document, source)
   SELECT key, row->>'slug', row->>'status', row->>'type', row->>'location_id',
          row->>'display_order', row->>'rendering', row->>'source_hash', row->>'change_seq',
          row->>'changed_at', row->>'removed_slug', row->>'former_slugs', card, document, source
   FROM import_staging WHERE import_id = ?1 AND kind = 'listing'`,
];

/** Removes slugs that listings have now from the former slugs of other listings. */
const TAKE_SLUGS = `
  UPDATE properties INDEXED BY properties_with_former_slugs
  SET former_slugs = (
    SELECT json_group_array(value ORDER BY key) FROM json_each(properties.former_slugs)
    WHERE NOT EXISTS (SELECT 1 FROM properties AS other WHERE other.slug = value))
  WHERE former_slugs <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(properties.former_slugs) JOIN properties AS other ON other.slug = value)`;

const MARK_APPLIED = `
  INSERT INTO import_staging (import_id, kind, key, row) VALUES (?1, 'applied', '', '{}')`;

/** The store cannot be read to see whether a transaction was applied. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

export class Overtaken extends Error {
  override readonly name = 'Overtaken';
  override readonly message = 'other imports were applied meanwhile, again and again: run it later';
}

type Staged = { importId: string; rows: number };

/** Stages the rows of an import. Calls `onStaged` with the number of listings staged until then. */
export async function stage(
  database: D1Database,
  { records }: Pick<Plan, 'records'>,
  listings: readonly Write[],
  { newestChange }: Pick<Catalogue, 'newestChange'>,
  onStaged: (done: number) => void,
): Promise<Staged> {
  const importId = crypto.randomUUID();
  let rows = 0;
  const all = stagedRows(records, listings, newestChange, Date.now());
  for (const batch of batchesOf(all, (json) => Buffer.byteLength(json))) {
    await database.prepare(STAGE).bind(`[${batch.join()}]`, importId).run();
    rows += batch.length;
    if (rows > records.length) onStaged(rows - records.length);
  }
  return { importId, rows };
}

/**
 * Returns the rows to be staged. Changes get the places after `newestChange`. Removals come first: a site removes the
 * page of a slug before another listing takes that slug.
 */
function* stagedRows(
  records: Plan['records'],
  listings: readonly Write[],
  newestChange: number,
  now: number,
): Generator<string> {
  for (const { kind, key, now: row } of records) yield stagedRow(kind, key, row);
  const removalsFirst = listings.toSorted((a, b) => orderOf(a) - orderOf(b));
  let place = newestChange;
  for (const { columns, change } of removalsFirst) {
    const { isNew, ...last } = change;
    if (isNew) place += 1;
    const latest = isNew ? { ...last, change_seq: place, changed_at: now } : last;
    const { id, source, document, card, ...row } = columns;
    // Nested as they are: as texts they would be escaped, and a large listing would exceed D1's bound.
    const texts = `,"source":${source},"document":${document},"card":${card}`;
    yield stagedRow('listing', id, { ...row, ...latest }, texts);
  }
}

function orderOf({ listing }: Write): number {
  return listing.status === 'hidden' ? 0 : 1;
}

function stagedRow(kind: string, key: string, row: object, texts = ''): string {
  return `{"kind":"${kind}","key":${JSON.stringify(key)},"row":${JSON.stringify(row)}${texts}}`;
}

/** Applies the staged rows, all or none. Throws `Overtaken`, `OutcomeUnknown`, or the fault that prevented it. */
export async function apply(
  database: D1Database,
  { importId, rows }: Staged,
  lastImport: string | null,
): Promise<void> {
  const transaction = [
    database.prepare(GUARD).bind(importId, lastImport, rows),
    ...APPLY.map((statement) => database.prepare(statement).bind(importId)),
    database.prepare(TAKE_SLUGS),
    database.prepare('DELETE FROM import_staging'),
    database.prepare(MARK_APPLIED).bind(importId),
  ];
  try {
    await database.batch(transaction);
  } catch (fault) {
    // Only the store knows: the response of a successful attempt may be lost.
    const state = await readState(database).catch((error: unknown) => {
      throw new OutcomeUnknown(messageOf(error), { cause: fault });
    });
    if (state.lastImport === importId) return;
    const why = messageOf(fault);
    throw GUARD_FAILURE.test(why) ? new Overtaken() : new Error(why, { cause: fault });
  }
}
