/** The database's own table, for Drizzle and the migrations. Every capability may read it. */

import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * One row, which says what database this is. The migration that makes the table writes it.
 *
 * It has no key that stays: restore replaces the row. Statements name no row, because there is one.
 */
export const databaseIdentity = sqliteTable('database_identity', {
  /**
   * Names the database and its copies: 32 random hexadecimal digits, made with the database. A backup
   * carries it, and a restore writes it, whatever the database is called. The ledger of erasures goes by it.
   */
  lineage: text().primaryKey(),
  /**
   * Names an uninterrupted history: 32 random hexadecimal digits. A new one begins when the database is
   * made, when `restore` has filled it, and when `after-time-travel` has run. A cursor that goes on later
   * carries it, and is refused once it is another one, because the places that the cursor knows may have
   * been undone and given again.
   */
  generation: text().notNull(),
  /** SHA-256 of the backup with which the generation began; null when it began otherwise. */
  restored_from: text(),
});
