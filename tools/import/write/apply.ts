/**
 * Applies an import: one transaction moves the staged rows into the store, and leaves its id as the
 * `applied` row of the staging table. Its guard fails if another id is there (the import is
 * *overtaken*), or if staged rows are missing.
 */

import { messageOf } from '../../command-line/user-error.ts';
import { readState } from '../read/store.ts';
import { type Staged, unstage } from './stage.ts';

/** A row of the staging table cannot be null. */
const GUARD_FAILURE = /NOT NULL constraint failed: import_staging\.row/;

const GUARD = `
  INSERT INTO import_staging (import_id, kind, key, row)
  SELECT ?1, 'guard', '', NULL
  WHERE (SELECT import_id FROM import_staging WHERE kind = 'applied') IS NOT ?2
     OR (SELECT count(*) FROM import_staging WHERE import_id = ?1) <> ?3`;

/** Deletes come first, so that a slug may move from one record to another. */
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

/** See src/properties/cache.ts. */
const RAISE_VERSION = `
  UPDATE database_identity
  SET catalogue_number = catalogue_number + 1, catalogue_import = ?1`;

const MARK_APPLIED = `
  INSERT INTO import_staging (import_id, kind, key, row) VALUES (?1, 'applied', '', '{}')`;

/** It is unknown whether the transaction was applied. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** Applies all rows, or none. Throws `OutcomeUnknown`, or the fault that prevented it. */
export async function apply(
  database: D1Database,
  { importId, rows }: Staged,
  lastImport: string | null,
  /** Whether a response of the feed changes. */
  isShown: boolean,
): Promise<'applied' | 'overtaken'> {
  if (rows === 0) return 'applied';
  const transaction = [
    database.prepare(GUARD).bind(importId, lastImport, rows),
    ...APPLY.map((statement) => database.prepare(statement).bind(importId)),
    database.prepare(TAKE_SLUGS),
    ...(isShown ? [database.prepare(RAISE_VERSION).bind(importId)] : []),
    database.prepare('DELETE FROM import_staging'),
    database.prepare(MARK_APPLIED).bind(importId),
  ];
  try {
    await database.batch(transaction);
    return 'applied';
  } catch (fault) {
    // Only the store knows: the response of a successful attempt may be lost.
    const state = await readState(database).catch((error: unknown) => {
      throw new OutcomeUnknown(messageOf(error), { cause: fault });
    });
    if (state.lastImport === importId) return 'applied';
    await unstage(database, importId);
    const why = messageOf(fault);
    if (GUARD_FAILURE.test(why)) return 'overtaken';
    throw new Error(why, { cause: fault });
  }
}
