/**
 * The writing half of an import: rows go into the staging table batch by batch, then one batch of
 * statements, a transaction, applies them all.
 *
 * What was checked and staged holds only while no other import is applied. So each one that is
 * applied leaves its id as the staging table's `applied` row, and the batch begins with a guard that
 * fails when that row is not the one that the import began with, or when staged rows are missing. An
 * applied import empties the staging table: what it removes is left from imports that were broken
 * off, or belongs to one that its own guard will now make begin again.
 */

import * as z from 'zod';
import { renderingOf } from '../../src/properties/render.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { patiently } from '../../src/storage/d1.ts';
import { batchesOf, jsonOf, type StagedRow } from './rows.ts';

/** What the guard's failure is told by: a row of the staging table cannot be null. */
const GUARD_FAILURE = /NOT NULL constraint failed: import_staging\.row/;

/** An import under way. */
export type Staging = {
  database: D1Database;
  importId: string;
  /** Without a trailing slash. */
  publicSiteUrl: string;
  /** Rows that this import has staged so far. */
  stagedRows: number;
};

/** Another import was applied since this one began: everything has to be checked again. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** The import that was applied last, or null. */
export async function findLastImport(database: D1Database): Promise<string | null> {
  const statement = database.prepare(`SELECT import_id FROM import_staging WHERE kind = 'applied'`);
  return z
    .string()
    .nullable()
    .parse(await patiently(() => statement.first('import_id')));
}

/** What marks a listing that an import has applied and not rendered yet. No rendering is named so. */
export function pendingRenderingOf(importId: string): string {
  return `pending ${importId}`;
}

/** Rows of listings that the store does not hold as they are, rendered by the present rules. */
const DIFFERING = `FROM json_each(?1) AS new LEFT JOIN properties AS old ON old.id = new.value->>'id'
  WHERE old.id IS NULL OR old.source <> new.value->>'source' OR old.rendering <> ?2`;

/** How many of the listings would be written. Writes nothing. */
export async function countDiffering(
  { database, publicSiteUrl }: Staging,
  batch: readonly StagedRow[],
): Promise<number> {
  const statement = database
    .prepare(`SELECT count(*) AS listings ${DIFFERING}`)
    .bind(jsonOf(batch), renderingOf(publicSiteUrl));
  return z.int().parse(await patiently(() => statement.first('listings')));
}

/** Stages those of the listings that the store does not hold as they are; returns how many. */
export async function stageListings(
  staging: Staging,
  batch: readonly StagedRow[],
): Promise<number> {
  const insert = staging.database
    .prepare(
      `INSERT INTO import_staging (kind, key, import_id, row)
       SELECT 'property', new.value->>'id', ?3, new.value ${DIFFERING}`,
    )
    .bind(jsonOf(batch), renderingOf(staging.publicSiteUrl), staging.importId);
  return stage(staging, insert);
}

/** Stages locations, all of them: what has not changed is left out by the plan. */
export async function stageLocations(staging: Staging, changed: readonly Location[]) {
  const rows = changed.map(({ id, slug, name }) => ({
    json: JSON.stringify({ key: id, slug, name }),
  }));
  for (const batch of batchesOf(rows)) await stageKeyed(staging, 'location', jsonOf(batch));
}

/** Stages amenities, as `stageLocations` does. */
export async function stageAmenities(staging: Staging, changed: readonly Amenity[]) {
  const rows = changed.map(({ slug, label }) => ({ json: JSON.stringify({ key: slug, label }) }));
  for (const batch of batchesOf(rows)) await stageKeyed(staging, 'amenity', jsonOf(batch));
}

async function stageKeyed(staging: Staging, kind: 'location' | 'amenity', rows: string) {
  const insert = staging.database
    .prepare(
      `INSERT INTO import_staging (kind, key, import_id, row)
       SELECT ?3, new.value->>'key', ?2, new.value FROM json_each(?1) AS new`,
    )
    .bind(rows, staging.importId, kind);
  await stage(staging, insert);
}

async function stage(staging: Staging, insert: D1PreparedStatement): Promise<number> {
  const { meta } = await patiently(() => insert.run());
  staging.stagedRows += meta.changes;
  return meta.changes;
}

/**
 * Applies everything staged, in one transaction. Records go before their successors come, so that
 * slugs may change hands. Throws `Overtaken` when another import came first.
 */
export async function applyStaged(staging: Staging, lastImport: string | null): Promise<void> {
  const { database, importId } = staging;
  const staged = (kind: string) => `FROM import_staging WHERE import_id = ?1 AND kind = '${kind}'`;
  const statements = [
    `DELETE FROM locations WHERE id IN (SELECT key ${staged('location')})`,
    `INSERT INTO locations (id, slug, name) SELECT key, row->>'slug', row->>'name' ${staged('location')}`,
    `DELETE FROM amenities WHERE slug IN (SELECT key ${staged('amenity')})`,
    `INSERT INTO amenities (slug, label) SELECT key, row->>'label' ${staged('amenity')}`,
    `DELETE FROM properties WHERE id IN (SELECT key ${staged('property')})`,
    `INSERT INTO properties (id, slug, status, type, location_id, display_order, source, document, rendering)
     SELECT key, row->>'slug', row->>'status', row->>'type', row->>'location_id',
            row->>'display_order', row->>'source', NULL, 'pending ' || ?1
     ${staged('property')}`,
  ].map((sql) => database.prepare(sql).bind(importId));
  const batch = [
    database
      .prepare(
        `INSERT INTO import_staging (kind, key, import_id, row)
         SELECT 'guard', '', ?1, NULL
         WHERE (SELECT import_id FROM import_staging WHERE kind = 'applied') IS NOT ?2
            OR (SELECT count(*) FROM import_staging WHERE import_id = ?1) <> ?3`,
      )
      .bind(importId, lastImport, staging.stagedRows),
    ...statements,
    database.prepare('DELETE FROM import_staging'),
    database
      .prepare(
        `INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', ?, '{}')`,
      )
      .bind(importId),
  ];
  try {
    await patiently(() => database.batch(batch));
  } catch (error) {
    if (!(error instanceof Error && GUARD_FAILURE.test(error.message))) throw error;
    // A repeated call may find that the first one had been applied after all.
    if ((await findLastImport(database)) !== importId) throw new Overtaken();
  }
}

/** Removes what a failed import staged. */
export async function discardStaged({ database, importId }: Staging): Promise<void> {
  const statement = database.prepare(
    `DELETE FROM import_staging WHERE import_id = ? AND kind <> 'applied'`,
  );
  await patiently(() => statement.bind(importId).run());
}
