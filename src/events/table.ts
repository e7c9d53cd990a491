/** The events table, as Drizzle and the migrations know it. */

import { isNotNull } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * One row an event. Rows are never changed or deleted, hence the plain integer key that D1 assigns
 * at commit is the order of the stream. A row costs one write, and one for each of its indexes: four
 * with a key, three without. An index entry ends in `seq`, so an aggregate's are in order already.
 */
export const events = sqliteTable(
  'events',
  {
    seq: integer().primaryKey(),
    id: text().notNull(),
    /** UUID of the idempotency key; the key itself is not kept. Null without a key. */
    keyId: text('key_id'),
    /** SHA-256 of the body's canonical JSON. Null without a key. */
    fingerprint: text(),
    /** Random, made by the request that stored the row: it knows its own row by it. Null without a key. */
    receipt: text(),
    type: text().notNull(),
    aggregateType: text('aggregate_type').notNull(),
    aggregateId: text('aggregate_id').notNull(),
    /** Milliseconds since the epoch. */
    createdAt: integer('created_at').notNull(),
    /** JSON text. The last column: SQLite walks through a large text to what is behind it. */
    payload: text().notNull(),
  },
  (t) => [
    uniqueIndex('events_id').on(t.id),
    index('events_by_key').on(t.keyId).where(isNotNull(t.keyId)),
    index('events_by_aggregate').on(t.aggregateId),
  ],
);
