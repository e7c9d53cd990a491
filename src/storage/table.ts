/** The database's own tables, for Drizzle and the migrations. Every capability may read them. */

import { sql } from 'drizzle-orm';
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** One row, which the migration writes. */
export const databaseIdentity = sqliteTable('database_identity', {
  /** Names the database and its restored copies, which share a ledger: 32 hexadecimal digits. */
  lineage: text().primaryKey(),
  /** Names a history: `restore` and `after-time-travel` begin a new one. 32 random digits too. */
  generation: text().notNull(),
  /** Raised by each import that changes a response of the feed. */
  catalogue_number: integer().notNull().default(0),
  /** The import that raised the number: after a rewind, another one may. */
  catalogue_import: text().notNull().default(''),
  /** The version of the catalogue, which src/properties/versions.ts describes. */
  catalogue_version: text()
    .notNull()
    .generatedAlwaysAs(sql`generation || ' ' || catalogue_number || ' ' || catalogue_import`, {
      mode: 'virtual',
    }),
});

/** One row per command that changed the database. The Worker only checks that it exists. */
export const operations = sqliteTable('operations', {
  id: text().primaryKey(),
  /** Milliseconds since 1970. */
  at: integer().notNull(),
  /** The name of a person's account, at GitHub or on their machine. */
  who: text().notNull(),
  /** Of the working copy; null if it is not known. */
  commit: text(),
  /** e.g. `import-listings` */
  command: text().notNull(),
  /** Its name without folders. */
  file: text(),
  /** JSON of numbers by name: `{"added":1,"changed":2}` */
  counts: text().notNull(),
  /** Of the export that an imported file was made from: a hash of its id. */
  export_id: text(),
});

/** What the last import of an export by a person has said of a record: the rows of its workbook. */
export const importedRows = sqliteTable(
  'imported_rows',
  {
    export_id: text().notNull(),
    who: text().notNull(),
    /** e.g. `listings 38e41363-…`, `amenities wifi` */
    record: text().notNull(),
    operation: text().notNull(),
    /** One line per row, in the form of the column `as of`: tools/import/read/marks.ts. */
    marks: text().notNull(),
  },
  ({ export_id, who, record }) => [primaryKey({ columns: [export_id, who, record] })],
);
