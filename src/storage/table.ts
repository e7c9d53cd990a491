/** The database's own table, for Drizzle and the migrations. Every capability may read it. */

import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * One row, which identifies the database. The migration that makes the table writes it. `restore` writes it last: a
 * database without the row is unfinished.
 */
export const databaseIdentity = sqliteTable('database_identity', {
  /**
   * Names the database and its copies: 32 random hexadecimal digits, made with the database. A backup has it, and a
   * restore writes it, whatever the name of the database is. The ledger of erasures is kept per lineage.
   */
  lineage: text().primaryKey(),
  /**
   * Names an uninterrupted history: 32 random hexadecimal digits. A new one begins when the database is made, when
   * `restore` has filled it, and when `after-time-travel` has run. A cursor to resume by contains it, and is rejected in
   * another generation, where its place may have been undone and assigned again.
   */
  generation: text().notNull(),
});
