/** The tables that belong to no capability. Every capability may read them. */

import { sql } from 'drizzle-orm';
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Identifies the database. It has one row, which the migration writes. */
export const databaseIdentity = sqliteTable('database_identity', {
  /** Identifies the database and its restored copies, which share an erasure ledger. 32 hexadecimal digits. */
  lineage: text().primaryKey(),
  /**
   * Identifies a history of the database. `restore` and `after-time-travel` begin a new history. 32
   * random hexadecimal digits.
   */
  generation: text().notNull(),
  /** Incremented by each import that changes a response of the feed. */
  catalogue_number: integer().notNull().default(0),
  /** Id of the import that incremented the number. After a rewind, a later import may reuse the number. */
  catalogue_import: text().notNull().default(''),
  /** The version of the catalogue, which src/properties/versions.ts describes. */
  catalogue_version: text()
    .notNull()
    .generatedAlwaysAs(sql`generation || ' ' || catalogue_number || ' ' || catalogue_import`, {
      mode: 'virtual',
    }),
});

/** One row per run of a command that changed the database. The Worker only checks that the table exists. */
export const operations = sqliteTable('operations', {
  id: text().primaryKey(),
  /** Milliseconds since the epoch. */
  at: integer().notNull(),
  /** Account name of the person, on GitHub or on their machine. */
  who: text().notNull(),
  /** Commit of the working copy; null if it is unknown. */
  commit: text(),
  /** e.g. `import-listings` */
  command: text().notNull(),
  /** Name of the file without its folders; null for a command without a file. */
  file: text(),
  /** JSON of numbers by name, e.g. `{"added":1,"changed":2}` */
  counts: text().notNull(),
  /** Hash of the id of the export from which the imported file was made; null if there was no export. */
  export_id: text(),
});

/**
 * The rows of a record in the workbook that a person imported last. There is one entry for each export,
 * person and record.
 */
export const importedRows = sqliteTable(
  'imported_rows',
  {
    export_id: text().notNull(),
    who: text().notNull(),
    /** e.g. `listings 38e41363-…`, `amenities wifi` */
    record: text().notNull(),
    operation: text().notNull(),
    /** One line per row, in the form of the column `as of`. */
    marks: text().notNull(),
  },
  ({ export_id, who, record }) => [primaryKey({ columns: [export_id, who, record] })],
);
