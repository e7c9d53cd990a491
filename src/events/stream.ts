/**
 * The list of events, in the order in which D1 committed them: its query parameters and its reads.
 *
 * Every read goes to the primary, so that a caller finds an event whose 202 it has just received.
 */

import { and, eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';
import { MAX_PAGE_SIZE, pagingParameters } from '../http/paging.ts';
import { listedTexts, listMetadata } from '../http/query.ts';
import { waitParameter } from '../http/wait.ts';
import { described, UUID_PATTERN, uuid } from '../schema.ts';
import { readD1 } from '../storage/d1.ts';
import { given, keysetPage, readPage, withinShare } from '../storage/page.ts';
import { statementOf, statementsOf } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import {
  MAX_NAME_CHARACTERS,
  millisecondFrom,
  NAME_PATTERN,
  name,
  timestamp,
} from './catalogue.ts';
import { pendingEvent } from './store.ts';
import { events } from './table.ts';

const MAX_EVENT_TYPES = 50;

const eventOrder = described(
  z.enum(['asc', 'desc']).default('desc'),
  '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
);

type EventOrder = z.output<typeof eventOrder>;

/**
 * Makes the schema of a parameter that lists values. Its output is JSON text, so that a statement binds it as one value:
 * deduplicated and sorted, so that equal lists have equal outputs.
 */
function valueList(value: z.ZodType<string, string>, max: number, noun: string) {
  const values = z.array(value).superRefine((values, context) => {
    if (values.length <= max) return;
    // As a problem of an entry: the parameter as a whole may be repeated.
    context.addIssue({ code: 'custom', path: [max], message: `must be at most ${max} ${noun}` });
  });
  return listedTexts
    .pipe(values)
    .transform((listed) => JSON.stringify([...new Set(listed)].sort()));
}

/** The numbers 0 to 99 as rows. D1 counts the rows of `json_each` as read, but not these. */
const NUMBERS = sql.raw(
  `(values ${Array.from({ length: MAX_PAGE_SIZE }, (_, number) => `(${number})`)}) as number`,
);

type Filter = {
  /** Two values with the same meaning have the same output. */
  schema: z.ZodType<string | number | undefined>;
  /** The table that is joined before the events. */
  from?: SQL;
  /** The condition that a row must meet. `value` is a placeholder. */
  condition(value: SQL): SQL;
};

/** Query parameter → filter. */
const FILTERS = {
  id: {
    schema: valueList(uuid, MAX_PAGE_SIZE, 'ids')
      .exactOptional()
      .register(z.globalRegistry, {
        description: 'Only the stored events with these ids: comma-separated, repeated, or both.',
        ...listMetadata({ pattern: UUID_PATTERN, minLength: 36, maxLength: 36 }, MAX_PAGE_SIZE),
      }),
    // Looks each id up by its index. Sorting reads each event once more.
    from: sql`${NUMBERS} cross join `,
    condition: (ids) => sql`${events.id} = ${ids}->>number.column1`,
  },
  type: {
    // Any name: stored events may have a type that the catalogue no longer has.
    schema: valueList(name, MAX_EVENT_TYPES, 'kinds')
      .exactOptional()
      .register(z.globalRegistry, {
        description: 'Only events of these kinds: comma-separated, repeated, or both.',
        ...listMetadata(
          { minLength: 1, maxLength: MAX_NAME_CHARACTERS, pattern: NAME_PATTERN },
          MAX_EVENT_TYPES,
        ),
      }),
    condition: (types) => sql`${events.type} in (select value from json_each(${types}))`,
  },
  aggregate_type: {
    schema: described(name.exactOptional(), 'Only events about this kind of entity.'),
    condition: (type) => eq(events.aggregate_type, type),
  },
  aggregate_id: {
    schema: described(name.exactOptional(), 'Only events about this entity.'),
    condition: (id) => eq(events.aggregate_id, id),
  },
  created_after: {
    schema: described(
      timestamp.transform((text) => Date.parse(text)).exactOptional(),
      'Only events accepted after this time.',
    ),
    condition: (time) => gt(events.created_at, time),
  },
  created_before: {
    schema: described(
      timestamp.transform(millisecondFrom).exactOptional(),
      'Only events accepted before this time.',
    ),
    condition: (time) => lt(events.created_at, time),
  },
} satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** An event must pass all filters of a request. */
type EventFilters = { [Name in FilterName]?: string | number };

const filters = Object.entries<Filter>(FILTERS);

const filterParameters = Object.fromEntries(
  filters.map(([name, { schema }]) => [name, schema]),
) as { [Name in FilterName]: (typeof FILTERS)[Name]['schema'] };

/** The query parameters of the list. */
export const listParameters = z
  .object({
    order: eventOrder,
    ...filterParameters,
    after_id: described(
      uuid.exactOptional(),
      'Only events after the event with this id, in the chosen order.',
    ),
    limit: described(
      pagingParameters.limit.unwrap().exactOptional(),
      'Items per page; with `id` the default is 100.',
    ),
    cursor: described(
      pagingParameters.cursor.unwrap().optional(),
      'The `next_cursor` or the `resume_cursor` of an earlier answer, unchanged and with the same filters; `limit` and `wait` may change.',
    ),
    wait: waitParameter('order=asc', 'an event'),
  })
  .refine(({ wait, order }) => wait === undefined || order === 'asc', {
    path: ['wait'],
    error: 'needs order=asc',
  });

/** The page begins after the position `after_seq` of a cursor, or else after the event `after_id`. */
type EventPageRequest = EventFilters & {
  order: EventOrder;
  limit: number;
  after_seq: number | undefined;
  after_id?: string;
};

/** Before every position of the order. */
const BEGINNING = { asc: 0, desc: Number.MAX_SAFE_INTEGER };

/** A page of events as JSON texts. */
type EventPage = {
  documents: string[];
  hasMore: boolean;
  /** The position of `resume_cursor`. No event between the page and this position passes the filters. */
  resume: number;
  /** The generation of the database, in which the positions are valid. */
  generation: string;
};

/** Reads a page in one round trip. Throws a `validation_error` if no event has the id `after_id`. */
export async function findEvents(
  database: D1Database,
  { order, limit, after_seq, after_id, ...filters }: EventPageRequest,
): Promise<EventPage> {
  const statement = pageStatement({ order, filters });
  const after0 = after_seq ?? (after_id === undefined ? BEGINNING[order] : null);
  let state: StreamState | undefined;
  const { items, next } = await readPage(
    limit,
    async (size) => {
      const [first, page] = await readD1(() =>
        database.batch<StreamState & EventPageRow>([
          STATE.bindTo(database, { after_id: after_id ?? '' }),
          statement.bindTo(database, { ...filters, after0, after_id: after_id ?? '', ...size }),
        ]),
      );
      state = first?.results[0];
      return page?.results ?? [];
    },
    documentOf,
  );
  if (state === undefined) throw new Error('The database has no identity.');
  const { generation, anchor, newest } = state;
  if (after_id !== undefined && anchor === null) throw unknownAfterId();

  const documents = items.map(({ document }) => document);
  if (next !== undefined) return { documents, hasMore: true, resume: next.seq, generation };
  const start = after_seq ?? anchor ?? BEGINNING[order];
  const resume = order === 'asc' ? Math.max(newest, start) : (items.at(-1)?.row.seq ?? start);
  return { documents, hasMore: false, resume, generation };
}

/** Reads an event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && documentOf(row);
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

/** A row, without the columns that only an ingest needs. `payload` is null if it is larger than its share of the page. */
type EventPageRow = Omit<
  typeof events.$inferSelect,
  'key_id' | 'fingerprint' | 'receipt' | 'payload'
> & { payload: string | null };

const { seq, payload } = events;

const columns = sql`${events.id}, ${events.type}, ${events.aggregate_type},
  ${events.aggregate_id}, ${events.created_at}, ${events.received_from}, ${events.erased_at}`;

type StreamState = { generation: string; anchor: number | null; newest: number };

/** The generation of the database, and the positions of `after_id` and of the newest event. */
const STATE = statementOf(
  sql<StreamState>`select ${databaseIdentity.generation},
    (select ${seq} from ${events} where ${events.id} = ${given('after_id')}) as anchor,
    (select coalesce(max(${seq}), 0) from ${events}) as newest
    from ${databaseIdentity}`,
);

const EVENT = statementOf(
  sql<EventPageRow>`select ${seq}, ${columns}, ${payload} from ${events} where ${events.id} = ${given('id')}`,
);

type Shape = { order: EventOrder; filters: EventFilters };

/** Requests with the same order and the same names of filters share a statement. */
const pageStatement = statementsOf(pageQuery, ({ order, filters }) =>
  [order, ...Object.keys(filters)].join(),
);

/** Each filter's value is bound under its name. The page begins after `after0`, or after the event `after_id`. */
function pageQuery({ order, filters: wanted }: Shape): SQL<EventPageRow> {
  const own = filters.filter(([name]) => name in wanted);
  const tables = own.flatMap(([, { from }]) => from ?? []);
  const conditions = own.map(([name, { condition }]) => condition(given(name)));
  return keysetPage<EventPageRow>({
    columns: sql`${columns}, ${withinShare(payload)} as payload`,
    from: sql`${sql.join(tables)}${events}`,
    ranges: [and(...conditions) ?? sql`true`],
    order: [seq],
    direction: order,
    after: sql`coalesce(${given('after0')},
      (select ${seq} from ${events} where ${events.id} = ${given('after_id')}))`,
  });
}

/** Returns a stored event as JSON text, with the payload as it is stored; undefined without the payload. */
function documentOf({ payload, ...row }: EventPageRow): string | undefined {
  if (payload === null) return undefined;
  const { aggregate_id, aggregate_type, received_from } = row;
  const erased_at = row.erased_at === null ? null : new Date(row.erased_at).toISOString();
  const stored = { aggregate_id, aggregate_type, received_from, erased_at };
  const head = JSON.stringify({ ...pendingEvent(row), ...stored });
  return `${head.slice(0, -1)},"payload":${payload}}`;
}
