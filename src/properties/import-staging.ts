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
import { patiently } from '../storage/d1.ts';
import { render, renderingOf } from './render.ts';
import type { Amenity, Location, Source } from './source.ts';

/** Bounds of a bound JSON text, which D1 takes up to 2 MB. A longer row travels alone. */
const ROWS_A_BATCH = 100;
const BYTES_A_BATCH = 1_000_000;
/** The largest row that fits D1. */
export const MAX_ROW_BYTES = 1_990_000;

/** What the guard's failure is told by: a row of the staging table cannot be null. */
const GUARD_FAILURE = /NOT NULL constraint failed: import_staging\.row/;

export type Staging = { database: D1Database; importId: string; stagedRows: number };

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

/** The row of a listing, as JSON of its columns. */
export function rowOf(listing: Source, publicSiteUrl: string): string {
  const document = render(listing, publicSiteUrl);
  return JSON.stringify({
    id: listing.id,
    slug: listing.slug,
    status: listing.status,
    type: listing.type,
    location_id: listing.location?.id ?? null,
    display_order: listing.display_order,
    source: JSON.stringify(listing),
    document: document && JSON.stringify(document),
    rendering: renderingOf(publicSiteUrl),
  });
}

/** Splits rows into batches that D1 can bind. */
export function* batchesOf(rows: Iterable<string>): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(row);
    if (batch.length === ROWS_A_BATCH || (batch.length > 0 && bytes + size > BYTES_A_BATCH)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Rows of listings that the store does not hold as they are. */
const DIFFERING = `FROM json_each(?1) AS new LEFT JOIN properties AS old ON old.id = new.value->>'id'
  WHERE old.id IS NULL OR old.source <> new.value->>'source' OR old.rendering <> new.value->>'rendering'`;

/** How many of the rows would be written. Writes nothing. */
export async function countDiffering(
  database: D1Database,
  rows: readonly string[],
): Promise<number> {
  const statement = database
    .prepare(`SELECT count(*) AS rows ${DIFFERING}`)
    .bind(`[${rows.join()}]`);
  return z.int().parse(await patiently(() => statement.first('rows')));
}

/** Stages those of the rows that the store does not hold as they are; returns how many. */
export async function stageListings(staging: Staging, rows: readonly string[]): Promise<number> {
  const insert = `INSERT INTO import_staging (kind, key, import_id, row)
    SELECT 'property', new.value->>'id', ?2, new.value ${DIFFERING}`;
  return stage(staging, insert, `[${rows.join()}]`);
}

export async function stageLocations(
  staging: Staging,
  locations: readonly Location[],
): Promise<void> {
  const rows = locations.map(({ id, slug, name }) =>
    JSON.stringify({ key: id, slug, name: JSON.stringify(name) }),
  );
  await stageKeyed(staging, 'location', rows);
}

export async function stageAmenities(
  staging: Staging,
  amenities: readonly Amenity[],
): Promise<void> {
  const rows = amenities.map(({ slug, label }) =>
    JSON.stringify({ key: slug, label: JSON.stringify(label) }),
  );
  await stageKeyed(staging, 'amenity', rows);
}

async function stageKeyed(staging: Staging, kind: 'location' | 'amenity', rows: string[]) {
  const insert = `INSERT INTO import_staging (kind, key, import_id, row)
    SELECT '${kind}', new.value->>'key', ?2, new.value FROM json_each(?1) AS new`;
  for (const batch of batchesOf(rows)) await stage(staging, insert, `[${batch.join()}]`);
}

async function stage(staging: Staging, insert: string, rows: string): Promise<number> {
  const statement = staging.database.prepare(insert).bind(rows, staging.importId);
  const { meta } = await patiently(() => statement.run());
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
            row->>'display_order', row->>'source', row->>'document', row->>'rendering'
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
