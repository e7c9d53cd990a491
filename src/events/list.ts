/** Reads events, from the primary: a caller finds the event of its 202. */

import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';
import {
  DEFAULT_PAGE_SIZE,
  decodeCursor,
  encodeCursor,
  invalidCursor,
  jsonWithField,
  listJson,
  MAX_PAGE_SIZE,
} from '../http/paging.ts';
import { readD1 } from '../storage/d1.ts';
import {
  keysetPage,
  nullIfOversized,
  placeholder,
  queryBuilder,
  readPage,
  statementOf,
} from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import { type EventFilters, FILTER_ENTRIES, type ListParameters } from './parameters.ts';
import { makeEventResource } from './store.ts';
import { events } from './table.ts';

/** A place in one generation of the database: the event `seq`, or a number between two events. */
type EventPlace = { generation: string; seq: number };

const eventPlace: z.ZodType<EventPlace> = z
  .tuple([z.string(), z.int().min(0)])
  .transform(([generation, seq]) => ({ generation, seq }));

/** The filters, the order and `after_id` of a request: a cursor is valid with the same ones only. */
type Query = Omit<ListParameters, 'limit' | 'cursor' | 'wait'>;

const scopeOf = (query: Query) => ({ list: 'events', filters: query });

/** Throws `invalid_cursor` unless the cursor is of the list with this query. */
export function decodeEventPlace(
  cursor: string | undefined,
  query: Query,
): Promise<EventPlace | undefined> {
  return decodeCursor(cursor, scopeOf(query), eventPlace);
}

/** Before every event of the order. */
const BEGINNING = { asc: 0, desc: Number.MAX_SAFE_INTEGER };

export type EventPage = { json: string; isEmpty: boolean; place: EventPlace };

/**
 * Returns the page after a place, or the first one, as JSON text of an `EventList`, in one round
 * trip. Throws `invalid_cursor` for a place of another generation, and a `validation_error` for an
 * unknown `after_id`.
 */
export async function readEvents(
  database: D1Database,
  query: Query,
  sentLimit: number | undefined,
  after: EventPlace | undefined,
): Promise<EventPage> {
  const { order, after_id, ...filters } = query;
  // All events that `id` can name fit on a page.
  const limit = sentLimit ?? (filters.id === undefined ? DEFAULT_PAGE_SIZE : MAX_PAGE_SIZE);
  // Null: the statement finds the position of `after_id`.
  const after0 = after?.seq ?? (after_id === undefined ? BEGINNING[order] : null);
  const { state, documents, last, hasMore } = await readPage({
    connection: database,
    state: STATE,
    page: pageStatement(order, filters),
    values: { ...filters, after0, after_id: after_id ?? '' },
    limit,
    format: formatEvent,
  });
  const { generation, anchor, newest } = state;
  // The event at a place of another generation was undone, and the place may be assigned again.
  if (after !== undefined && after.generation !== generation) throw invalidCursor();
  if (after_id !== undefined && anchor === null) throw unknownAfterId();

  const start = after?.seq ?? anchor ?? BEGINNING[order];
  const end = last?.seq ?? start;
  // `newest` is read in the page's transaction: no event from `end` to `newest` passes the filters.
  const behindPage = hasMore ? end : Math.max(newest, start);
  const place = { generation, seq: order === 'asc' ? behindPage : newest };
  const cursorAt = (seq: number, as: Query['order']) =>
    encodeCursor(scopeOf({ ...query, order: as }), [generation, seq]);
  const next = hasMore ? await cursorAt(end, order) : null;
  // It leads to later events, so it has the order `asc`. A later page of `desc` has no newest event.
  const isBackwards = order === 'desc' && after !== undefined;
  const resume_cursor = isBackwards ? null : await cursorAt(place.seq, 'asc');
  const json = listJson(documents, next, { resume_cursor });
  return { json, isEmpty: documents.length === 0, place };
}

/** Reads an event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && formatEvent(row);
}

/** 404 `resource_missing`. */
export function noSuchEvent(): ApiError {
  return resourceMissing('There is no such event.');
}

/** 400 `validation_error`: no event has the id `after_id`. */
export function unknownAfterId(): ApiError {
  const path = 'after_id';
  return validationError([{ path, field: path, message: 'must be the id of an existing event' }]);
}

/** `payload` is null if it was left out. */
type EventRow = Omit<
  typeof events.$inferSelect,
  'key_id' | 'fingerprint' | 'receipt' | 'payload'
> & { payload: string | null };

const { seq, payload, key_id, fingerprint, receipt, ...shownColumns } = getTableColumns(events);
const columns = sql.join(Object.values(shownColumns), sql`, `);

/** The generation of the database, and the positions of `after_id` and of the newest event. */
const STATE = statementOf(
  queryBuilder
    .select({
      generation: databaseIdentity.generation,
      anchor: sql<number | null>`(select ${seq} from ${events}
        where ${events.id} = ${placeholder('after_id')})`.as('anchor'),
      newest: sql<number>`(select coalesce(max(${seq}), 0) from ${events})`.as('newest'),
    })
    .from(databaseIdentity),
);

const EVENT = statementOf(
  queryBuilder
    .select({ seq, ...shownColumns, payload })
    .from(events)
    .where(eq(events.id, sql.placeholder('id'))),
);

/** Compiled for each request, because its conditions depend on the filters: 0.1 ms. */
function pageStatement(order: Query['order'], filters: EventFilters) {
  const sent = FILTER_ENTRIES.filter(([name]) => name in filters);
  const joined = sent.map(([name, { joinedBefore }]) => joinedBefore?.(placeholder(name)));
  const conditions = sent.map(([name, { condition }]) => condition(placeholder(name)));
  return statementOf(
    keysetPage<EventRow>({
      columns: sql`${columns}, ${nullIfOversized(payload)} as payload`,
      from: sql`${sql.join(joined.filter((join) => join !== undefined))}${events}`,
      ranges: [and(...conditions) ?? sql`true`],
      order: [seq],
      direction: order,
      after: sql`coalesce(${placeholder('after0')},
        (select ${seq} from ${events} where ${events.id} = ${placeholder('after_id')}))`,
    }),
  );
}

function formatEvent({ payload, ...row }: EventRow): string | undefined {
  if (payload === null) return undefined;
  const { aggregate_id, aggregate_type, received_from } = row;
  const erased_at = row.erased_at === null ? null : new Date(row.erased_at).toISOString();
  const stored = { aggregate_id, aggregate_type, received_from, erased_at };
  return jsonWithField({ ...makeEventResource(row), ...stored }, 'payload', payload);
}
