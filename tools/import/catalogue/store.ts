/** Reads the complete catalogue into memory, for imports and exports. */

import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { amenities, importStaging, locations, properties } from '../../../src/properties/table.ts';
import { createStatement } from '../../../src/storage/statement.ts';
import { databaseIdentity, importedRows } from '../../../src/storage/table.ts';
import { type Operation, readNamedOperations } from '../../database/operations.ts';
import { readPages } from '../../database/tables.ts';
import { readSource } from './version.ts';

const text = z.string();
const row = z.object({
  id: text,
  slug: text,
  status: z.enum(['listed', 'coming_soon', 'sold_out', 'hidden']),
  rendering: text,
  source: text,
  document: text.nullable(),
  change_seq: z.number().nullable(),
  changed_at: z.number().nullable(),
  removed_slug: text.nullable(),
  former_slugs: text,
  operation: text.nullable(),
});

export type StoredListing = Omit<z.infer<typeof row>, 'source'> & { listing: Source };

/** Reports how many items a phase has processed, e.g. `listings read`. */
export type OnProgress = (phase: string, done: number, total: number) => void;

type State = {
  /** The id of the last import that was applied. A different id means that the store has changed. */
  lastImport: string | null;
  /** The columns of `database_identity`. */
  generation: string;
  lineage: string;
  /** The highest change number of any listing. An import continues from there. */
  newestChange: number;
};

type ImportedRows = typeof importedRows.$inferSelect;

export type Records = State & {
  locations: Location[];
  amenities: Amenity[];
  /** The stored listings by id. */
  listings: ReadonlyMap<string, StoredListing>;
};

export type Catalogue = Records & {
  /**
   * The operations that listings and imported rows refer to, and the newest ones. By id, newest
   * first.
   */
  operations: ReadonlyMap<string, Operation>;
  /** The rows that earlier imports of the same export recorded: see match/history.ts. */
  importedRows: ImportedRows[];
};

const STATE = createStatement(sql<State>`
  select
    (select ${importStaging.import_id} from ${importStaging} where kind = 'applied') as "lastImport",
    (select ${databaseIdentity.generation} from ${databaseIdentity}) as "generation",
    (select ${databaseIdentity.lineage} from ${databaseIdentity}) as "lineage",
    (select coalesce(max(${properties.change_seq}), 0) from ${properties}) as "newestChange"`);
const LOCATIONS = createStatement(sql<typeof locations.$inferSelect>`
  select id, slug, name from ${locations} order by slug, id`);
const AMENITIES = createStatement(sql<typeof amenities.$inferSelect>`
  select slug, label from ${amenities} order by slug`);

/** Selects one page: rows of up to 2 MB together, and the row that exceeds them. */
const IMPORTED_ROWS = createStatement(sql<ImportedRows & { position: number }>`
  select position, export_id, who, record, operation, marks from (
    select rowid as position, *, sum(octet_length(marks)) over (order by rowid) as bytes
    from ${importedRows} where export_id = ${sql.placeholder('exportKey')} and rowid > ${sql.placeholder('after')})
  where bytes - octet_length(marks) < 2000000 order by position`);

export async function readImportState(database: D1Database): Promise<State> {
  const [state] = await STATE.rows(database, {});
  if (state === undefined) throw new Error('the database has no state');
  return state;
}

/**
 * Reads the catalogue. The state comes first, so that a later check detects an import during the
 * reads.
 */
export async function readRecords(
  database: D1Database,
  onProgress: OnProgress = () => {},
): Promise<Records> {
  const state = await readImportState(database);
  const locationRows = await LOCATIONS.rows(database, {});
  const amenityRows = await AMENITIES.rows(database, {});
  const listings = new Map<string, StoredListing>();
  const columns = ['rowid', ...Object.keys(row.shape)];
  for await (const page of readPages(database, 'properties', columns)) {
    for (const { source, ...columns } of z.array(row).parse(page)) {
      listings.set(columns.id, { ...columns, listing: readSource(source) });
    }
    onProgress('listings read', listings.size, listings.size);
  }
  return {
    ...state,
    locations: locationRows.map(({ id, slug, name }) => ({ id, slug, name: JSON.parse(name) })),
    amenities: amenityRows.map(({ slug, label }) => ({ slug, label: JSON.parse(label) })),
    listings,
  };
}

/** Reads the catalogue. `exportKey` identifies the export whose imported rows are read: see `Author`. */
export async function readCatalogue(
  database: D1Database,
  onProgress?: OnProgress,
  exportKey?: string,
): Promise<Catalogue> {
  const records = await readRecords(database, onProgress);
  const importedRows = exportKey === undefined ? [] : await readImportedRows(database, exportKey);
  const operationIds = [...records.listings.values(), ...importedRows].map(
    ({ operation }) => operation,
  );
  const operations = await readNamedOperations(database, operationIds);
  return { ...records, importedRows, operations: new Map(operations.map((row) => [row.id, row])) };
}

async function readImportedRows(database: D1Database, exportKey: string): Promise<ImportedRows[]> {
  const rows: ImportedRows[] = [];
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: (ImportedRows & { position: number })[] = await IMPORTED_ROWS.rows(database, {
      exportKey,
      after,
    });
    rows.push(...page);
    after = page.at(-1)?.position;
  }
  return rows;
}

/** Finds the listings that use a location, given its id, or an amenity, given its slug. */
export function findUsers({ listings }: Catalogue, key: string): StoredListing[] {
  return [...listings.values()].filter(
    ({ listing: { location, amenities } }) =>
      location?.id === key || amenities.some(({ slug }) => slug === key),
  );
}

export function listSources({ listings }: Records): Source[] {
  return [...listings.values()].map(({ listing }) => listing);
}
