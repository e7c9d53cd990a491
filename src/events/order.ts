/** The order of the stream: the order in which D1 committed the events, or its reverse. */

import {
  asc,
  desc,
  eq,
  gt,
  lt,
  type Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';
import { events } from './table.ts';

/** The query parameter `order`. */
export const eventOrder = z.enum(['asc', 'desc']).default('desc').meta({
  description: '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
});

export type EventOrder = z.output<typeof eventOrder>;

/** Sorts rows in the order. */
export function sortedIn(order: EventOrder): SQL {
  return order === 'asc' ? asc(events.seq) : desc(events.seq);
}

/** The condition that a row comes behind a position. */
export function isBehind(seq: Placeholder | SQLWrapper, order: EventOrder): SQL {
  return order === 'asc' ? gt(events.seq, seq) : lt(events.seq, seq);
}

/** The place that every event comes behind. */
export function beginningOf(order: EventOrder): SQL {
  return sql.raw(order === 'asc' ? '0' : String(Number.MAX_SAFE_INTEGER));
}

/** Selects the position of an event; no row when no event has the id. */
export function positionOf(id: Placeholder) {
  return new QueryBuilder().select({ seq: events.seq }).from(events).where(eq(events.id, id));
}
