/**
 * Writes an import to the database. Its rows first go into the staging table, which no reader uses.
 * One transaction then moves them into the store, and leaves the import's id in the `applied` row
 * of the staging table. A guard makes the transaction fail if that row contains the id of a
 * different import than expected, or if the number of staged rows is wrong. A concurrent import
 * deletes staged rows, and a repeated call doubles them. An import whose guard fails has lost a
 * race.
 */

import { describeError } from '../../command-line/user-error.ts';
import { type NewOperation, recordOperation } from '../../database/operations.ts';
import { splitIntoBatches } from '../../database/tables.ts';
import { type Catalogue, type OnProgress, readImportState } from '../catalogue/store.ts';
import type { Effect } from '../plan/plan.ts';

const STAGE = `
  INSERT INTO import_staging (import_id, kind, key, row, source, document, card)
  SELECT ?2, new.value->>'kind', new.value->>'key', new.value->>'row', new.value->>'source',
    new.value->>'document', new.value->>'card'
  FROM json_each(?1) AS new`;

/** Failure of the guard, which inserts a null row that the table rejects. */
const GUARD_FAILURE = /NOT NULL constraint failed: import_staging\.row/;

const GUARD = `
  INSERT INTO import_staging (import_id, kind, key, row)
  SELECT ?1, 'guard', '', NULL
  WHERE (SELECT import_id FROM import_staging WHERE kind = 'applied') IS NOT ?2
     OR (SELECT count(*) FROM import_staging WHERE import_id = ?1) <> ?3`;

/**
 * Moves the staged rows into the store. Deletes come first, so that a slug can move from one record
 * to another.
 */
const APPLY = [
  `DELETE FROM locations WHERE id IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'location')`,
  `DELETE FROM amenities WHERE slug IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'amenity')`,
  `DELETE FROM properties WHERE id IN
     (SELECT key FROM import_staging WHERE import_id = ?1 AND kind = 'listing')`,
  `INSERT INTO locations (id, slug, name)
   SELECT key, row->>'slug', row->>'name'
   FROM import_staging WHERE import_id = ?1 AND kind = 'location' AND row <> '{}'`,
  `INSERT INTO amenities (slug, label)
   SELECT key, row->>'label'
   FROM import_staging WHERE import_id = ?1 AND kind = 'amenity' AND row <> '{}'`,
  `INSERT INTO properties (id, slug, status, type, location_id, display_order, rendering,
                           change_seq, changed_at, removed_slug, former_slugs, operation, card, document, source)
   SELECT key, row->>'slug', row->>'status', row->>'type', row->>'location_id',
          row->>'display_order', row->>'rendering', row->>'change_seq',
          row->>'changed_at', row->>'removed_slug', row->>'former_slugs', row->>'operation', card, document, source
   FROM import_staging WHERE import_id = ?1 AND kind = 'listing'`,
  `INSERT OR REPLACE INTO imported_rows (export_id, who, record, operation, marks)
   SELECT row->>'export_id', row->>'who', key, import_id, row->>'marks'
   FROM import_staging WHERE import_id = ?1 AND kind = 'imported'`,
];

/** Removes slugs that are now in use from the former slugs of other listings. */
const TAKE_SLUGS = `
  UPDATE properties INDEXED BY properties_with_former_slugs
  SET former_slugs = (
    SELECT json_group_array(value ORDER BY key) FROM json_each(properties.former_slugs)
    WHERE NOT EXISTS (SELECT 1 FROM properties AS other WHERE other.slug = value))
  WHERE former_slugs <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(properties.former_slugs) JOIN properties AS other ON other.slug = value)`;

/**
 * Increments the catalogue's version, which makes cached responses stale: see
 * src/properties/versions.ts.
 */
const RAISE_VERSION = `
  UPDATE database_identity
  SET catalogue_number = catalogue_number + 1, catalogue_import = ?1`;

const MARK_APPLIED = `
  INSERT INTO import_staging (import_id, kind, key, row) VALUES (?1, 'applied', '', '{}')`;

/** Thrown if it is unknown whether the transaction was applied. */
export class UnknownOutcomeError extends Error {}

/**
 * Writes all rows or none. Throws `UnknownOutcomeError` if the outcome is unknown, and otherwise
 * the error that prevented the import.
 */
export async function apply(
  effect: Effect,
  operation: NewOperation,
  { newestChange, lastImport }: Catalogue,
  { database, onProgress }: { database: D1Database; onProgress: OnProgress },
): Promise<'applied' | 'lost-race'> {
  const { recordChanges, listings, importedRows } = effect;
  const importId = operation.id;
  // This comes first because it throws if git fails.
  const record = recordOperation(database, operation);
  let staged = 0;
  const rows = yieldRows(effect, importId, newestChange);
  for await (const { json, count } of splitIntoBatches(rows)) {
    await database.prepare(STAGE).bind(json, importId).run();
    staged += count;
    onProgress(
      'listings staged',
      Math.max(0, staged - importedRows.length - recordChanges.length),
      listings.length,
    );
  }
  const transaction = [
    database.prepare(GUARD).bind(importId, lastImport, staged),
    ...APPLY.map((statement) => database.prepare(statement).bind(importId)),
    database.prepare(TAKE_SLUGS),
    ...(raisesVersion(effect) ? [database.prepare(RAISE_VERSION).bind(importId)] : []),
    record,
    database.prepare('DELETE FROM import_staging'),
    database.prepare(MARK_APPLIED).bind(importId),
  ];
  try {
    await database.batch(transaction);
    return 'applied';
  } catch (error) {
    // The store shows the outcome, because the response to a successful attempt may have been lost.
    const state = await readImportState(database).catch((readError: unknown) => {
      throw new UnknownOutcomeError(describeError(readError), { cause: error });
    });
    if (state.lastImport === importId) return 'applied';
    const message = describeError(error);
    if (GUARD_FAILURE.test(message)) return 'lost-race';
    // Another import was applied, either instead of this one or after it.
    if (state.lastImport !== lastImport) throw new UnknownOutcomeError(message, { cause: error });
    throw new Error(message, { cause: error });
  }
}

/** Whether an import changes a response of the feed, which shows listings and locations. */
export function raisesVersion({ recordChanges, listings }: Effect): boolean {
  const changesListing = listings.some(({ latest }) => latest.changesFeed);
  return changesListing || recordChanges.some(({ kind }) => kind === 'location');
}

/**
 * Yields the rows as JSON. Changes are numbered from `newestChange` + 1. Removals come first, so
 * that a reader of the changes frees a slug before reusing it.
 */
function* yieldRows(
  { recordChanges, listings, importedRows }: Effect,
  importId: string,
  newestChange: number,
): Generator<string> {
  for (const row of importedRows) yield formatRow('imported', row.record, row);
  // The row of a removed record is `{}`, which APPLY does not insert.
  for (const { kind, key, now = {} } of recordChanges) yield formatRow(kind, key, now);
  const { removals = [], others = [] } = Object.groupBy(listings, ({ listing }) =>
    listing.status === 'hidden' ? 'removals' : 'others',
  );
  const now = Date.now();
  let seq = newestChange;
  for (const { columns, latest, old, isChanged } of [...removals, ...others]) {
    const { changesFeed, ...last } = latest;
    if (changesFeed) seq += 1;
    const change = changesFeed ? { ...last, change_seq: seq, changed_at: now } : last;
    const { id, source, document, card, ...row } = columns;
    const operation = isChanged ? importId : (old?.operation ?? null);
    // These columns are already JSON. Escaping them as strings would exceed D1's limit for large listings.
    const jsonColumns = `,"source":${source},"document":${document},"card":${card}`;
    yield formatRow('listing', id, { ...row, ...change, operation }, jsonColumns);
  }
}

function formatRow(kind: string, key: string, row: object, jsonColumns = ''): string {
  return `{"kind":"${kind}","key":${JSON.stringify(key)},"row":${JSON.stringify(row)}${jsonColumns}}`;
}
