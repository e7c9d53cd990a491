/** The first half of writing an import: its rows go into the staging table, batch by batch. */

import { renderingOf } from '../../src/properties/render.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { patiently } from '../database/patiently.ts';
import { changeColumnsOf, type StoredListing } from './change.ts';
import { jsonBatchesOf, jsonOf, type StagedRow } from './rows.ts';

/** An import under way. */
export type Staging = {
  database: D1Database;
  importId: string;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  /** The number of rows that this import has staged so far. */
  stagedRows: number;
};

/** Selects the rows of a batch that the store lacks, holds with another source, or has rendered by other rules. */
const DIFFERING = `FROM json_each(?1) AS new LEFT JOIN properties AS old ON old.id = new.value->>'id'
  WHERE old.id IS NULL OR old.source <> new.value->>'source' OR old.rendering <> ?2`;

/** The effect of staging a batch, done or planned. */
export type StagedListings = {
  /** The listings that are new, or differ from the store. */
  rows: StagedRow[];
  /** The stored sources that they replace, by id, as JSON. */
  replaced: ReadonlyMap<string, string>;
  /** The number of listings that the feed will show differently. */
  changes: number;
  /** The public slugs of these listings, former ones too. */
  slugs: readonly string[];
};

/** Finds the listings that would be staged. Writes nothing. */
export async function findDiffering(
  staging: Staging,
  batch: readonly StagedRow[],
): Promise<StagedListings> {
  const { rows, ...found } = await differing(staging, batch);
  return { rows: rows.map(({ row }) => row), ...found };
}

/** Stages the listings that are new, or differ from the store. */
export async function stageListings(
  staging: Staging,
  batch: readonly StagedRow[],
): Promise<StagedListings> {
  const { rows, ...found } = await differing(staging, batch);
  for (const part of jsonBatchesOf(rows)) {
    const insert = staging.database
      .prepare(
        `INSERT INTO import_staging (kind, key, import_id, row)
         SELECT 'property', new.value->>'id', ?2, new.value FROM json_each(?1) AS new`,
      )
      .bind(jsonOf(part), staging.importId);
    await stage(staging, insert);
  }
  return { rows: rows.map(({ row }) => row), ...found };
}

/** Finds the rows of a batch that are to be staged, each with the columns of its latest change. */
async function differing({ database, publicSiteUrl }: Staging, batch: readonly StagedRow[]) {
  const statement = database
    .prepare(
      `SELECT new.value->>'id' AS id, old.slug, old.status, old.document, old.source, old.change_seq,
         old.changed_at, old.removed_slug, old.former_slugs ${DIFFERING}`,
    )
    .bind(jsonOf(batch), renderingOf(publicSiteUrl));
  const { results } = await patiently(() => statement.all<StoredListing | Missing>());
  const stored = new Map(results.map((each) => [each.id, each]));
  const replaced = new Map<string, string>();
  const slugs: string[] = [];
  let changes = 0;
  const rows = batch.flatMap((row) => {
    const found = stored.get(row.listing.id);
    if (found === undefined) return [];
    const old = found.slug === null ? undefined : found;
    if (old !== undefined) replaced.set(old.id, old.source);
    const columns = changeColumnsOf(old, row.listing, publicSiteUrl);
    if (columns.is_new) {
      changes += 1;
      const { slug, status } = row.listing;
      const last = status === 'hidden' ? columns.removed_slug : slug;
      slugs.push(...(last === null ? [] : [last]), ...columns.former_slugs);
    }
    return [{ row, json: `${row.json.slice(0, -1)},"change":${JSON.stringify(columns)}}` }];
  });
  return { rows, replaced, changes, slugs };
}

/** A listing of the batch that the store does not hold. */
type Missing = { id: string; slug: null };

/** Removes the staged rows of an import. */
export async function discardStaged({ database, importId }: Staging): Promise<void> {
  const statement = database.prepare(
    `DELETE FROM import_staging WHERE import_id = ? AND kind <> 'applied'`,
  );
  await patiently(() => statement.bind(importId).run());
}

/** Stages locations or amenities without comparing them with the store. */
export async function stageRecords<T extends Location | Amenity>(
  staging: Staging,
  kind: 'location' | 'amenity',
  records: readonly T[],
  keyOf: (record: T) => string,
): Promise<void> {
  const rows = records.map((record) => ({
    json: JSON.stringify({ key: keyOf(record), row: record }),
  }));
  for (const batch of jsonBatchesOf(rows)) {
    const insert = staging.database
      .prepare(
        `INSERT INTO import_staging (kind, key, import_id, row)
         SELECT ?3, new.value->>'key', ?2, new.value->>'row' FROM json_each(?1) AS new`,
      )
      .bind(jsonOf(batch), staging.importId, kind);
    await stage(staging, insert);
  }
}

async function stage(staging: Staging, insert: D1PreparedStatement): Promise<void> {
  const { meta } = await patiently(() => insert.run());
  staging.stagedRows += meta.changes;
}
