/** The first half of writing an import: its rows go into the staging table, batch by batch. */

import { renderingOf } from '../../src/properties/render.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { patiently } from '../../src/storage/d1.ts';
import { batchesOf, jsonOf, type StagedRow } from './rows.ts';

/** An import under way. */
export type Staging = {
  database: D1Database;
  importId: string;
  /** Without a trailing slash. */
  publicSiteUrl: string;
  /** The number of rows that this import has staged so far. */
  stagedRows: number;
};

/** Selects the rows of a batch that the store does not hold as they are, rendered by the present rules. */
const DIFFERING = `FROM json_each(?1) AS new LEFT JOIN properties AS old ON old.id = new.value->>'id'
  WHERE old.id IS NULL OR old.source <> new.value->>'source' OR old.rendering <> ?2`;

/** Counts the listings that would be written. Writes nothing. */
export async function countDiffering(
  { database, publicSiteUrl }: Staging,
  batch: readonly StagedRow[],
): Promise<number> {
  const statement = database
    .prepare(`SELECT count(*) AS listings ${DIFFERING}`)
    .bind(jsonOf(batch), renderingOf(publicSiteUrl));
  return (await patiently(() => statement.first<number>('listings'))) ?? 0;
}

/** Stages the listings that the store does not hold as they are; returns how many. */
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

/** Stages locations, whether or not the store holds them as they are. */
export async function stageLocations(staging: Staging, locations: readonly Location[]) {
  await stageKeyed(staging, 'location', locations, ({ id }) => id);
}

/** Stages amenities, whether or not the store holds them as they are. */
export async function stageAmenities(staging: Staging, amenities: readonly Amenity[]) {
  await stageKeyed(staging, 'amenity', amenities, ({ slug }) => slug);
}

/** Removes what an import has staged. */
export async function discardStaged({ database, importId }: Staging): Promise<void> {
  const statement = database.prepare(
    `DELETE FROM import_staging WHERE import_id = ? AND kind <> 'applied'`,
  );
  await patiently(() => statement.bind(importId).run());
}

async function stageKeyed<T>(
  staging: Staging,
  kind: 'location' | 'amenity',
  records: readonly T[],
  keyOf: (record: T) => string,
) {
  const rows = records.map((record) => ({
    json: JSON.stringify({ key: keyOf(record), row: record }),
  }));
  for (const batch of batchesOf(rows)) {
    const insert = staging.database
      .prepare(
        `INSERT INTO import_staging (kind, key, import_id, row)
         SELECT ?3, new.value->>'key', ?2, new.value->>'row' FROM json_each(?1) AS new`,
      )
      .bind(jsonOf(batch), staging.importId, kind);
    await stage(staging, insert);
  }
}

async function stage(staging: Staging, insert: D1PreparedStatement): Promise<number> {
  const { meta } = await patiently(() => insert.run());
  staging.stagedRows += meta.changes;
  return meta.changes;
}
