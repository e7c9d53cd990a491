/** The table of events. docs/explain/architecture.md, "What is stored", describes the columns. */

import { isNotNull } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * One row for each event. An index entry ends with `seq`, which is the row id, so the index by aggregate
 * has the events of an aggregate in order.
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
