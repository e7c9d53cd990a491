/**
 * The list of changes: one D1 round trip to the primary, so that a reader sees what an import that has
 * ended wrote.
 *
 * A listing has one place in the list, that of its latest change. A reader that starts from nothing gets
 * the public listings first, by their places, and then everything that came after its start, removals
 * too. Removals before its start are no news to it, and are not read.
 */

import { type SQL, sql } from 'drizzle-orm';
import { readD1 } from '../storage/d1.ts';
import {
  byteLengthOf,
  itemOf,
  lastThatFits,
  NO_ID,
  type Place,
  shareOfPage,
  takePage,
} from '../storage/page-bound.ts';
import { type Statement, statementOf, type Values } from '../storage/statement.ts';
import type { ChangePlace } from './change.ts';
import { renderingOf } from './render.ts';
import { behind, bytes, columnsOf, documentOf } from './store.ts';
import { fromNewestChange, isInChanges, properties } from './table.ts';

/** An item: `document` is the property as JSON text, null for one that was removed. */
export type Change = {
  id: string;
  slug: string;
  changedAt: number | null;
  document: string | null;
};

export type ChangePage = {
  changes: Change[];
  hasMore: boolean;
  /** The place where a reader goes on, whether or not there is more now. */
  resume: ChangePlace;
};

type ChangeRow = {
  part: 'catalogue' | 'change' | 'newest';
  change_seq: number;
  id: string;
  slug: string;
  status: string;
  changed_at: number | null;
  removed_slug: string | null;
  catalogue_end: string | null;
  current_document: string | null;
  stale_source: string | null;
};

type Ordered = readonly [seq: number, id: string];

/**
 * Finds the page after a place, or the first one. Reads at most `limit + 1` rows. Sizes that have to be
 * added up cost more: see page-bound.ts.
 */
export async function findChanges(
  database: D1Database,
  publicSiteUrl: string,
  { limit, after }: { limit: number; after: ChangePlace | undefined },
): Promise<ChangePage> {
  const read = (statement: Statement<ChangeRow>, values: Values) => {
    const session = database.withSession('first-primary');
    const given = { ...values, rendering: renderingOf(publicSiteUrl), share: shareOfPage(limit) };
    return readD1(() => statement.rows(session, given));
  };
  const take = (rows: ChangeRow[]) => takePage(itemsOf(rows.slice(0, limit), publicSiteUrl));

  switch (after?.kind) {
    case undefined: {
      const rows = await read(FIRST, { rows: limit });
      const newest = rows.find(({ part }) => part === 'newest');
      const catalogue = rows.filter(({ part }) => part === 'catalogue');
      const items = take(catalogue);
      const hasMore = isBefore(items.at(-1)?.row, endOfCatalogue(newest));
      return pageOf(items, catalogue[items.length], newest?.change_seq ?? 0, hasMore);
    }
    case 'catalogue': {
      const { seq, start } = after;
      const rows = await read(CATALOGUE, { seq, id: after.id, start, rows: limit + 1 });
      const items = take(rows);
      return pageOf(items, rows[items.length], start, items.length < rows.length);
    }
    case 'changes': {
      const rows = await read(CHANGES, { start: after.seq, rows: limit + 1 });
      const items = take(rows);
      return pageOf(items, rows[items.length], after.seq, items.length < rows.length);
    }
  }
}

/**
 * Makes the items of a page, up to the first that the page cannot hold, whose texts are null. A removed
 * listing has no document.
 */
function* itemsOf(rows: readonly ChangeRow[], publicSiteUrl: string): Generator<Item> {
  for (const row of rows) {
    const document = row.status === 'hidden' ? null : documentOf(row, publicSiteUrl);
    if (document === undefined) return;
    yield { row, document, bytes: document === null ? 0 : byteLengthOf(document) };
  }
}

type Item = { row: ChangeRow; document: string | null; bytes: number };

/** Makes the page of its items. `next` is the row behind them, as far as one was read. */
function pageOf(
  items: readonly Item[],
  next: ChangeRow | undefined,
  start: number,
  hasMore: boolean,
): ChangePage {
  return {
    changes: items.map(({ row, document }) => changeOf(row, document)),
    hasMore,
    resume: placeAfter(items.at(-1)?.row, next, start, hasMore),
  };
}

function changeOf(row: ChangeRow, document: string | null): Change {
  const slug = row.status === 'hidden' ? (row.removed_slug ?? row.slug) : row.slug;
  return { id: row.id, slug, changedAt: row.changed_at, document };
}

/** Returns the place of the last item, in the catalogue only while more of the catalogue follows. */
function placeAfter(
  last: ChangeRow | undefined,
  next: ChangeRow | undefined,
  start: number,
  hasMore: boolean,
): ChangePlace {
  if (last === undefined) return { kind: 'changes', seq: start };
  if (last.part === 'change') return { kind: 'changes', seq: last.change_seq };
  const isEnd = !hasMore || next?.part === 'change';
  if (isEnd) return { kind: 'changes', seq: start };
  return { kind: 'catalogue', seq: last.change_seq, id: last.id, start };
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

// The partial indexes have these conditions word for word, which SQLite looks for. Either index fits the
// catalogue, but one has the removed listings in it too: so each statement names its own.
const isPublic = sql`${properties.status} <> 'hidden'`;

const { change_seq, id } = properties;
const given = (name: string) => sql`${sql.placeholder(name)}`;

/** The size of an item towards the bound of its page. */
const size = sql`iif(${isPublic}, ${bytes}, 0)`;

/** Tells whether a page of this size holds the listing, which shows its texts then. A hidden one never does. */
const isWanted = sql`${isPublic} and (${bytes} <= ${given('share')}
  or (${change_seq}, ${id}) <= (select item->>1, item->>2 from last_that_fits))`;
const { current_document, stale_source } = columnsOf(isWanted);
const columns = sql`${change_seq}, ${id}, ${properties.slug}, ${properties.status},
  ${properties.changed_at}, ${properties.removed_slug}, ${properties.catalogue_end},
  ${current_document.sql} as current_document, ${stale_source.sql} as stale_source`;

/** Selects columns of the items behind a place, in order. */
type Range = (columns: SQL, place: Place, rows: SQL) => SQL;

const inCatalogue =
  (end: SQL): Range =>
  (columns, [seq, after], rows) =>
    sql`
    select 'catalogue' as part, ${columns}
    from ${properties} indexed by properties_by_publication
    where ${isPublic} and (${change_seq}, ${id}) > (${seq}, ${after}) and ${change_seq} <= ${end}
    order by change_seq, id limit ${rows}`;

const inChanges: Range = (columns, [seq], rows) => sql`
  select 'change' as part, ${columns} from ${properties} indexed by properties_by_change
  where ${isInChanges} and ${change_seq} > ${seq} order by change_seq limit ${rows}`;

/** SQLite reads the changes only when the catalogue does not fill the page. */
const inBoth =
  (end: SQL): Range =>
  (columns, [seq, after], rows) =>
    sql`
    select * from (${inCatalogue(end)(columns, [seq, after], rows)})
    union all select * from (${inChanges(columns, [sql`max(${seq}, ${end})`, after], rows)})
    limit ${rows}`;

const pageSql = (range: Range, start: Place) => {
  const item = sql`${itemOf(size, change_seq, behind(id))} as item`;
  const next = (place: Place) => sql`select item from (${range(item, place, sql`1`)})`;
  return sql<ChangeRow>`with last_that_fits as (${lastThatFits(start, next, sql.placeholder('rows'))})
    select * from (${range(columns, start, sql`${given('rows')} + 0`)})`;
};

const newest = sql`
  select 'newest' as part, ${change_seq}, ${id}, '' as slug, ${properties.status},
    null as changed_at, null as removed_slug, ${properties.catalogue_end},
    null as current_document, null as stale_source
  ${fromNewestChange}`;

const BEGINNING: Place = [sql`-1`, NO_ID];
const NO_END = sql.raw(String(Number.MAX_SAFE_INTEGER));
const start = given('start');

const FIRST = statementOf(sql<ChangeRow>`${pageSql(inCatalogue(NO_END), BEGINNING)}
  union all select * from (${newest})`);
const CATALOGUE = statementOf(pageSql(inBoth(start), [given('seq'), behind(given('id'))]));
const CHANGES = statementOf(pageSql(inChanges, [start, NO_ID]));
