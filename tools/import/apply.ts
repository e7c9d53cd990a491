/**
 * The second half of writing an import: one batch of statements, a transaction, applies every row that the import has
 * staged.
 *
 * The checks of an import hold only while no other import is applied. So each applied import leaves its id as the
 * `applied` row of the staging table. The batch begins with a guard, which fails when this row has changed since the
 * import began, or when staged rows are missing. The batch ends by emptying the staging table: its other rows belong to
 * interrupted imports, or to an import whose guard will now fail, so that it begins again.
 */

import { eq, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { importStaging, properties } from '../../src/properties/table.ts';
import { statementOf } from '../../src/storage/statement.ts';
import { patiently } from '../database/patiently.ts';
import type { Staging } from './staging.ts';

/** The guard's failure: a row of the staging table cannot be null. */
const GUARD_FAILURE = /NOT NULL constraint failed: import_staging\.row/;

const GUARD = `
  INSERT INTO import_staging (kind, key, import_id, row)
  SELECT 'guard', '', ?1, NULL
  WHERE (SELECT import_id FROM import_staging WHERE kind = 'applied') IS NOT ?2
     OR (SELECT count(*) FROM import_staging WHERE import_id = ?1) <> ?3`;

/** Deletes the stored records before the new ones are inserted, so that a slug may move from one record to another. */
const REMOVALS = [
  `DELETE FROM locations WHERE id IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'location')`,
  `DELETE FROM amenities WHERE slug IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'amenity')`,
  `DELETE FROM properties WHERE id IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'property')`,
];

const INSERTS = [
  `INSERT INTO locations (id, slug, name)
   SELECT key, row->>'slug', row->>'name'
   FROM import_staging WHERE import_id = ?1 AND kind = 'location'`,
  `INSERT INTO amenities (slug, label)
   SELECT key, row->>'label'
   FROM import_staging WHERE import_id = ?1 AND kind = 'amenity'`,
];

/**
 * Keeps the place of the newest change before the replaced listings are deleted: the changes of this import come after
 * it. So places are in the order of commits, and no place that a reader may hold is assigned again. After a set-back of
 * the database places are assigned again, and a reader's cursor is refused by its generation.
 */
const KEEP_LAST_PLACE = statementOf(sql`
  INSERT INTO import_staging (kind, key, import_id, row)
  SELECT 'sequence', '', ${sql.placeholder('importId')},
    coalesce(max(${properties.change_seq}), 0) FROM ${properties}`);

const LAST_PLACE = `(SELECT CAST(row AS INTEGER) FROM import_staging
  WHERE import_id = ?1 AND kind = 'sequence')`;

/**
 * Changes get the next places in the order of the staged rows, removals first: a reader that keeps pages by their slugs
 * removes the page of a slug before another listing takes that slug.
 */
const INSERT_LISTINGS = `
  WITH changes AS (
    SELECT rowid AS staged, row_number() OVER (ORDER BY row->>'status' <> 'hidden', rowid) AS number
    FROM import_staging
    WHERE import_id = ?1 AND kind = 'property' AND row->>'$.change.is_new'
  )
  INSERT INTO properties (id, slug, status, type, location_id, display_order, source, rendering,
                          change_seq, changed_at, removed_slug, former_slugs)
  SELECT key, row->>'slug', row->>'status', row->>'type', row->>'location_id',
         row->>'display_order', row->>'source', ?2,
         coalesce(${LAST_PLACE} + number, row->>'$.change.change_seq'),
         iif(number IS NULL, row->>'$.change.changed_at', ?3),
         row->>'$.change.removed_slug', row->>'$.change.former_slugs'
  FROM import_staging LEFT JOIN changes ON staged = import_staging.rowid
  WHERE import_id = ?1 AND kind = 'property'`;

/** Removes slugs that listings have now from the former slugs of other listings. */
const TAKE_SLUGS = `
  UPDATE properties INDEXED BY properties_with_former_slugs
  SET former_slugs = (
    SELECT json_group_array(value ORDER BY key) FROM json_each(properties.former_slugs)
    WHERE NOT EXISTS (SELECT 1 FROM properties AS other WHERE other.slug = value))
  WHERE former_slugs <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(properties.former_slugs) JOIN properties AS other ON other.slug = value)`;

const MARK_APPLIED = `
  INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', ?1, '{}')`;

const LAST_IMPORT = statementOf(
  new QueryBuilder()
    .select({ import_id: importStaging.import_id })
    .from(importStaging)
    .where(eq(importStaging.kind, 'applied')),
);

/** An import sent its transaction, and the store cannot be read to see whether it was applied. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** Another import was applied since this one began: everything has to be checked again. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** Returns the id of the import that was applied last, or null. */
export async function findLastImport(database: D1Database): Promise<string | null> {
  const [last] = await patiently(() => LAST_IMPORT.rows(database, {}));
  return last?.import_id ?? null;
}

/**
 * Returns the `rendering` of a listing that an import has applied and not rendered yet. No real rendering has this
 * name.
 */
export function pendingRenderingOf(importId: string): string {
  return `pending ${importId}`;
}

/**
 * Applies everything staged. Throws `Overtaken` when another import came first, `OutcomeUnknown`, and another `Error`
 * when the store shows that it was not applied.
 */
export async function applyStaged(staging: Staging, lastImport: string | null): Promise<void> {
  const { database, importId, stagedRows } = staging;
  const batch = [
    database.prepare(GUARD).bind(importId, lastImport, stagedRows),
    KEEP_LAST_PLACE.bindTo(database, { importId }),
    ...[...REMOVALS, ...INSERTS].map((statement) => database.prepare(statement).bind(importId)),
    database.prepare(INSERT_LISTINGS).bind(importId, pendingRenderingOf(importId), Date.now()),
    database.prepare(TAKE_SLUGS),
    database.prepare('DELETE FROM import_staging'),
    database.prepare(MARK_APPLIED).bind(importId),
  ];
  try {
    await patiently(() => database.batch(batch));
  } catch (error) {
    // Only the store knows: an answer may be lost, or be the one of an attempt after a successful one.
    const last = await readBack(database, error);
    if (last === importId) return;
    const why = messageOf(error);
    throw GUARD_FAILURE.test(why) ? new Overtaken() : new Error(why, { cause: error });
  }
}

/** Returns the id of the import that was applied last. Throws `OutcomeUnknown` when it cannot be read after a fault. */
async function readBack(database: D1Database, fault: unknown): Promise<string | null> {
  try {
    return await findLastImport(database);
  } catch (error) {
    const why = messageOf(GUARD_FAILURE.test(messageOf(fault)) ? error : fault);
    throw new OutcomeUnknown(why, { cause: fault });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
