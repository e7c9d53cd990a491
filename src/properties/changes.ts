/**
 * The list of changes: its items, the places that cursors carry, and its reads. Each read is one D1 round trip to the
 * primary, so that a reader sees every change of an import that has ended.
 *
 * A listing has one place in the list, the place of its latest change. A reader without a cursor gets the public
 * listings first, in the order of their places, and then all changes after its start, with removals. Earlier removals
 * are skipped.
 */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import * as z from 'zod';
import {
  type CursorScope,
  cursorText,
  encodeCursor,
  invalidCursor,
  listJson,
  listOf,
} from '../http/paging.ts';
import { lowerCaseUuid, uuid } from '../http/uuid.ts';
import { readD1 } from '../storage/d1.ts';
import {
  given,
  LAST_THAT_FITS,
  ROWS,
  SHARE,
  takePage,
  valuesOfPage,
  WALKED,
  withLastThatFits,
} from '../storage/page.ts';
import { type Statement, statementOf, type Values } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import { inLanguages } from './locale-map.ts';
import { renderingOf } from './render.ts';
import { property } from './resource.ts';
import {
  documentOf,
  justAfter,
  type ListingText,
  listingBytes,
  listingTextWhere,
} from './store.ts';
import { fromNewestChange, isInChanges, properties } from './table.ts';

/** A place in the list of changes, of one generation of the database: see `database_identity`. */
type ChangePlace =
  /** A place in the public catalogue, which a reader gets first; the changes after `start` follow it. */
  | { kind: 'catalogue'; generation: string; seq: number; id: string; start: number }
  /** A place in the changes, removals among them. */
  | { kind: 'changes'; generation: string; seq: number };

/** The cursors of the list: they are made without filters. */
export const CHANGES_SCOPE: CursorScope = { list: 'property-changes' };

const sequence = z.int().min(0);
const generation = z.string();

/** A place as a cursor carries it. */
export const changePlace: z.ZodType<ChangePlace> = z.union([
  z.tuple([generation, sequence, uuid, sequence]).transform(([generation, seq, id, start]) => ({
    generation,
    kind: 'catalogue' as const,
    seq,
    id,
    start,
  })),
  z
    .tuple([generation, sequence])
    .transform(([generation, seq]) => ({ generation, kind: 'changes' as const, seq })),
]);

/** Makes the cursor for the items after a place. */
export function changeCursor(place: ChangePlace): Promise<string> {
  const { generation, seq } = place;
  const position =
    place.kind === 'changes' ? [generation, seq] : [generation, seq, place.id, place.start];
  return encodeCursor(CHANGES_SCOPE, position);
}

/** Selects the generation of the database, in one row read. */
export const GENERATION = statementOf(
  sql<Pick<typeof databaseIdentity.$inferSelect, 'generation'>>`
    select ${databaseIdentity.generation} from ${databaseIdentity}`,
);

/** An item of the list. */
export const propertyChange = z.strictObject({
  object: z.literal('property_change'),
  id: lowerCaseUuid,
  slug: property.shape.slug,
  former_slugs: z.array(property.shape.slug).max(20),
  change: z.enum(['published', 'removed']),
  changed_at: z.iso.datetime().max(30).nullable(),
  property: property.nullable(),
});

/** A page of changes. */
export const changeList = listOf(propertyChange).extend({ resume_cursor: cursorText });

/** A request for at most `limit` changes after a place, or from the beginning. */
type ChangesRequest = {
  limit: number;
  after: ChangePlace | undefined;
  locale: readonly string[] | undefined;
};

type Listing = typeof properties.$inferSelect;
type ChangeRow = ListingText &
  Pick<
    Listing,
    'change_seq' | 'id' | 'slug' | 'status' | 'changed_at' | 'removed_slug' | 'former_slugs'
  > & {
    part: 'catalogue' | 'change' | 'newest';
    catalogue_end: string | null;
  };

type Ordered = readonly [seq: number, id: string];

/**
 * Reads the page after a place, or the first one, as JSON text of a `PropertyChangeList`. Reads at most `limit + 1`
 * rows, and the row of the database's generation. A page that has to be cut costs more: see page.ts. Throws
 * `invalid_cursor` for a place of another generation.
 */
export async function readChanges(
  database: D1Database,
  publicSiteUrl: string,
  { limit, after, locale }: ChangesRequest,
): Promise<{ json: string; isEmpty: boolean }> {
  const read = async (statement: Statement<ChangeRow>, values: Values) => {
    const session = database.withSession('first-primary');
    const all = { ...valuesOfPage(limit), ...values, rendering: renderingOf(publicSiteUrl) };
    const statements = [GENERATION.bindTo(session, {}), statement.bindTo(session, all)];
    const [identity, page] = await readD1(() =>
      session.batch<ChangeRow & { generation: string }>(statements),
    );
    const generation = identity?.results[0]?.generation ?? '';
    // The change at a place of another generation was undone, and the place may have been assigned again.
    if (after !== undefined && after.generation !== generation) throw invalidCursor('after');
    return { generation, rows: page?.results ?? [] };
  };
  const take = (rows: readonly ChangeRow[]): Item[] => {
    const { documents } = takePage(rows, limit, (row) => propertyOf(row, publicSiteUrl));
    return rows
      .slice(0, documents.length)
      .map((row, index) => ({ row, document: documents[index] ?? '' }));
  };
  const answer = async (items: readonly Item[], hasMore: boolean, resume: ChangePlace) => {
    const cursor = await changeCursor(resume);
    const documents = items.map((item) => changeJson(item, locale));
    const json = listJson(documents, hasMore ? cursor : null, { resume_cursor: cursor });
    return { json, isEmpty: items.length === 0 };
  };

  if (after === undefined) {
    const { generation, rows } = await read(FIRST, { rows: limit });
    const newest = rows.find(({ part }) => part === 'newest');
    const items = take(rows.filter(({ part }) => part === 'catalogue'));
    const hasMore = isBefore(items.at(-1)?.row, endOfCatalogue(newest));
    const start = newest?.change_seq ?? 0;
    return answer(items, hasMore, placeAfter(items, undefined, { generation, start }, hasMore));
  }
  const start = after.kind === 'catalogue' ? after.start : after.seq;
  const { generation, rows } =
    after.kind === 'catalogue'
      ? await read(CATALOGUE, { seq: after.seq, id: justAfter(after.id), start })
      : await read(CHANGES, { seq: after.seq, id: '' });
  const items = take(rows);
  const hasMore = items.length < rows.length;
  const next = rows[items.length];
  return answer(items, hasMore, placeAfter(items, next, { generation, start }, hasMore));
}

/** A change, and the JSON text of its property: empty for a removed property. */
type Item = { row: ChangeRow; document: string };

/** Returns the JSON text of a change's property, empty for a removed property; undefined when the page cannot hold it. */
function propertyOf(row: ChangeRow, publicSiteUrl: string): string | undefined {
  return row.status === 'hidden' ? '' : documentOf(row, publicSiteUrl, 'document');
}

function changeJson({ row, document }: Item, locale: ChangesRequest['locale']): string {
  const isRemoved = row.status === 'hidden';
  const change = {
    object: 'property_change',
    id: row.id,
    slug: isRemoved ? (row.removed_slug ?? row.slug) : row.slug,
    former_slugs: JSON.parse(row.former_slugs),
    change: isRemoved ? 'removed' : 'published',
    changed_at: row.changed_at === null ? null : new Date(row.changed_at).toISOString(),
  };
  const shown = isRemoved ? 'null' : inLanguages(property, document, locale);
  return `${JSON.stringify(change).slice(0, -1)},"property":${shown}}`;
}

/**
 * Returns the place of the last item, in the catalogue only while more of the catalogue follows. `next` is the row
 * after the items, if one was read.
 */
function placeAfter(
  items: readonly Item[],
  next: ChangeRow | undefined,
  { generation, start }: { generation: string; start: number },
  hasMore: boolean,
): ChangePlace {
  const last = items.at(-1)?.row;
  if (last?.part === 'change') return { generation, kind: 'changes', seq: last.change_seq };
  if (last === undefined || !hasMore || next?.part === 'change') {
    return { generation, kind: 'changes', seq: start };
  }
  return { generation, kind: 'catalogue', seq: last.change_seq, id: last.id, start };
}

/** Returns the place of the last public listing, from the newest change: see `catalogue_end` in table.ts. */
function endOfCatalogue(newest: ChangeRow | undefined): Ordered | undefined {
  if (newest === undefined) return undefined;
  if (newest.status !== 'hidden') return [newest.change_seq, newest.id];
  return newest.catalogue_end === null ? undefined : JSON.parse(newest.catalogue_end);
}

function isBefore(last: ChangeRow | undefined, end: Ordered | undefined): boolean {
  if (last === undefined || end === undefined) return false;
  const [seq, id] = end;
  return last.change_seq < seq || (last.change_seq === seq && last.id < id);
}

// SQLite uses a partial index only for a query with the same condition, word for word. Both indexes fit the
// catalogue, but one holds the removed listings too, so each range names its index.
const isPublic = sql`${properties.status} <> 'hidden'`;

const { change_seq, id, slug, status, changed_at, removed_slug, former_slugs } = properties;
const publicBytes = listingBytes('document');
const bytes = sql`iif(${isPublic}, ${publicBytes}, 0)`;
const item = sql`json_array(${bytes}, ${change_seq}, ${id} || ' ') as item`;
const change = sql`${change_seq}, ${id}, ${slug}, ${status}, ${changed_at}, ${removed_slug}, ${former_slugs},
  null as catalogue_end, ${listingTextWhere(
    sql`${isPublic}
    and (${publicBytes} <= ${SHARE} or (${change_seq}, ${id}) <= ${LAST_THAT_FITS})`,
    'document',
  )}`;

type SqlPlace = readonly [seq: SQLWrapper, id: SQLWrapper];

/** Selects columns of the public listings after a place in the catalogue, in order. */
const inCatalogue = (columns: SQL, [seq, afterId]: SqlPlace, end: SQL, limit: SQL) => sql`
  select 'catalogue' as part, ${columns} from ${properties} indexed by properties_by_publication
  where ${isPublic} and (${change_seq}, ${id}) > (${seq}, ${afterId}) and ${change_seq} <= ${end}
  order by change_seq, id limit ${limit}`;

const inChanges = (columns: SQL, seq: SQLWrapper, limit: SQL) => sql`
  select 'change' as part, ${columns} from ${properties} indexed by properties_by_change
  where ${isInChanges} and ${change_seq} > ${seq} order by change_seq limit ${limit}`;

/** Selects from the first public listings. */
const first = (columns: SQL, place: SqlPlace, limit: SQL) =>
  inCatalogue(columns, place, sql.raw(String(Number.MAX_SAFE_INTEGER)), limit);

/**
 * Selects from the rest of the catalogue, and then from the changes after `start`. SQLite reads the changes only when
 * the catalogue does not fill the page.
 */
const rest = (columns: SQL, [seq, afterId]: SqlPlace, limit: SQL) => sql`
  select * from (${inCatalogue(columns, [seq, afterId], given('start'), limit)})
  union all select * from (${inChanges(columns, sql`max(${seq}, ${given('start')})`, limit)})
  limit ${limit}`;

const BEGINNING = [sql`-1`, sql`''`] as const;
const FIRST = statementOf(sql<ChangeRow>`
  ${withLastThatFits(BEGINNING, sql`select item from (${first(item, WALKED, sql`1`)})`)}
  select * from (${first(change, BEGINNING, ROWS)})
  union all select * from (
    select 'newest' as part, ${change_seq}, ${id}, '' as slug, ${status}, null as changed_at,
      null as removed_slug, '[]' as former_slugs, ${properties.catalogue_end}, 0 as is_current, null as text
    ${fromNewestChange})`);

const AFTER = [given('seq'), given('id')] as const;
const CATALOGUE = statementOf(sql<ChangeRow>`
  ${withLastThatFits(AFTER, sql`select item from (${rest(item, WALKED, sql`1`)})`)}
  ${rest(change, AFTER, ROWS)}`);
const CHANGES = statementOf(sql<ChangeRow>`
  ${withLastThatFits(AFTER, sql`select item from (${inChanges(item, WALKED[0], sql`1`)})`)}
  ${inChanges(change, AFTER[0], ROWS)}`);
