/** The events table. A key of the object is the column's name in the database. */

import { isNotNull } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * One row per event. Rows are never deleted, so the plain integer key that D1 assigns at commit is the order of the
 * stream. Only an erasure changes a row: it empties the payload and sets `erased_at`.
 *
 * Storing an event writes its row and an entry for each index: four rows with a key, three without. An index entry ends
 * in `seq`, so the events of one aggregate are already in order.
 */
export const events = sqliteTable(
  'events',
  {
    seq: integer().primaryKey(),
    id: text().notNull(),
    /** UUID of the idempotency key; the key itself is not stored. Null without a key. */
    key_id: text(),
    /** SHA-256 of the body's canonical JSON. Null without a key. */
    fingerprint: text(),
    /** Random; a request recognizes the row that it stored itself by it. Null without a key. */
    receipt: text(),
    type: text().notNull(),
    aggregate_type: text().notNull(),
    aggregate_id: text().notNull(),
    /** Milliseconds since the epoch. */
    created_at: integer().notNull(),
    /** Name of the API key that posted the event. Null for the key that opens everything. */
    received_from: text(),
    /** Milliseconds since the epoch; when the payload was erased. Null for an event that has its payload. */
    erased_at: integer(),
    /** JSON text. The large text comes last: SQLite reads through it to reach a later column. */
    payload: text().notNull(),
  },
  (t) => [
    uniqueIndex('events_id').on(t.id),
    index('events_by_key').on(t.key_id).where(isNotNull(t.key_id)),
    index('events_by_aggregate').on(t.aggregate_id),
  ],
);
