/**
 * The second half of writing an import: one batch of statements, a transaction, applies every row
 * that the import has staged.
 *
 * The checks of an import hold only while no other one is applied. So each applied import
 * leaves its id as the `applied` row of the staging table, and the batch begins with a guard, which
 * fails when that row is not the one that the import began with, or when staged rows are missing. The
 * batch ends by emptying the staging table: the other rows in it were left by interrupted imports, or
 * belong to one that its own guard will now make begin again.
 */

import { eq, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { fromNewestChange, importStaging, properties } from '../../src/properties/table.ts';
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

/** Removes the stored records before their successors come, so that slugs may change hands. */
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
 * Keeps the place of the newest change, which the changes of this import come behind, before the listings
 * that are replaced are gone. So places follow one another in the order of commits, and a place that a
 * reader may hold is not given again. When the database is set back, places that it had given are given
 * again: the generation in a reader's cursor tells.
 */
const KEEP_LAST_PLACE = statementOf(sql`
  INSERT INTO import_staging (kind, key, import_id, row)
  SELECT 'sequence', '', ${sql.placeholder('importId')},
    coalesce((SELECT ${properties.change_seq} ${fromNewestChange}), 0)`);

const LAST_PLACE = `(SELECT CAST(row AS INTEGER) FROM import_staging
  WHERE import_id = ?1 AND kind = 'sequence')`;

/**
 * Changes get the next places in the order of the staged rows, removals first: a reader that keeps pages
 * by their slugs removes the page of a slug before another listing takes that slug.
 */
const INSERT_LISTINGS = `
  WITH changes AS (
    SELECT rowid AS staged, row_number() OVER (ORDER BY row->>'status' <> 'hidden', rowid) AS number
    FROM import_staging
    WHERE import_id = ?1 AND kind = 'property' AND row->>'$.change.change_seq' IS NULL
  )
  INSERT INTO properties (id, slug, status, type, location_id, display_order, source, rendering,
                          change_seq, changed_at, removed_slug, catalogue_end, former_slugs)
  SELECT key, row->>'slug', row->>'status', row->>'type', row->>'location_id',
         row->>'display_order', row->>'source', ?2,
         coalesce(${LAST_PLACE} + number, row->>'$.change.change_seq'),
         iif(number IS NULL, row->>'$.change.changed_at', ?3),
         row->>'$.change.removed_slug', row->>'$.change.catalogue_end',
         row->>'$.change.former_slugs'
  FROM import_staging LEFT JOIN changes ON staged = import_staging.rowid
  WHERE import_id = ?1 AND kind = 'property'`;

/** Takes the slugs that listings have now out of the former ones of others. */
const TAKE_SLUGS = `
  UPDATE properties INDEXED BY properties_with_former_slugs
  SET former_slugs = (
    SELECT json_group_array(value ORDER BY key) FROM json_each(properties.former_slugs)
    WHERE NOT EXISTS (SELECT 1 FROM properties AS other WHERE other.slug = value))
  WHERE former_slugs <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(properties.former_slugs) JOIN properties AS other ON other.slug = value)`;

/** Tells the removals where the catalogue ends: see `catalogue_end` in src/properties/table.ts. */
const END_CATALOGUE = `
  UPDATE properties SET catalogue_end = (SELECT json_array(change_seq, id) FROM properties
    WHERE status <> 'hidden' ORDER BY change_seq DESC, id DESC LIMIT 1)
  WHERE (status <> 'hidden' OR change_seq > 0) AND status = 'hidden' AND change_seq > ${LAST_PLACE}`;

const MARK_APPLIED = `
  INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', ?1, '{}')`;

const LAST_IMPORT = statementOf(
  new QueryBuilder()
    .select({ import_id: importStaging.import_id })
    .from(importStaging)
    .where(eq(importStaging.kind, 'applied')),
);

/** An import failed, and it was read back from the store that it was not applied. */
export class NotApplied extends Error {
  override readonly name = 'NotApplied';
}

/** An import sent its transaction, and it cannot be read back whether it was applied. */
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

/** Returns what marks a listing that an import has applied and not rendered yet. No rendering is named so. */
export function pendingRenderingOf(importId: string): string {
  return `pending ${importId}`;
}

/** Applies everything staged. Throws `Overtaken` when another import came first. */
export async function applyStaged(staging: Staging, lastImport: string | null): Promise<void> {
  const { database, importId, stagedRows } = staging;
  const batch = [
    database.prepare(GUARD).bind(importId, lastImport, stagedRows),
    KEEP_LAST_PLACE.bindTo(database, { importId }),
    ...[...REMOVALS, ...INSERTS].map((statement) => database.prepare(statement).bind(importId)),
    database.prepare(INSERT_LISTINGS).bind(importId, pendingRenderingOf(importId), Date.now()),
    database.prepare(END_CATALOGUE).bind(importId),
    database.prepare(TAKE_SLUGS),
    database.prepare('DELETE FROM import_staging'),
    database.prepare(MARK_APPLIED).bind(importId),
  ];
  try {
    await patiently(() => database.batch(batch));
  } catch (error) {
    // Only the store can tell: the answer may be lost, or that of the first attempt of a repeated call.
    const last = await readBack(database, error);
    if (last === importId) return;
    const why = messageOf(error);
    throw GUARD_FAILURE.test(why) ? new Overtaken() : new NotApplied(why, { cause: error });
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
