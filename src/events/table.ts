/** The events table. docs/explain/architecture.md ("What is stored") describes its columns. */

import { isNotNull } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * One row per event. Every index entry ends with the row id, which is `seq`, so the index by aggregate
 * lists an aggregate's events in order.
 */
export const events = sqliteTable(
  'events',
  {
    seq: integer().primaryKey(),
    id: text().notNull(),
    key_id: text(),
    fingerprint: text(),
    receipt: text(),
    type: text().notNull(),
    aggregate_type: text().notNull(),
    aggregate_id: text().notNull(),
    /** Milliseconds since the epoch. */
    created_at: integer().notNull(),
    received_from: text(),
    erased_at: integer(),
    /** JSON text. The column is last, because SQLite reads through a large text to reach a later column. */
    payload: text().notNull(),
  },
  (t) => [
    uniqueIndex('events_id').on(t.id),
    index('events_by_key').on(t.key_id).where(isNotNull(t.key_id)),
    index('events_by_aggregate').on(t.aggregate_id),
  ],
);
