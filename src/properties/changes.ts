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
import { byteLengthOf, takePage } from '../storage/page-bound.ts';
import { type Statement, statementOf, type Values } from '../storage/statement.ts';
import type { ChangePlace } from './change.ts';
import { renderingOf } from './render.ts';
import { columns, documentOf } from './store.ts';
import { properties } from './table.ts';

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
  /** Where a reader goes on, whether or not there is more now. */
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

/** Finds the page after a place, or the first one. Reads at most `limit + 1` rows. */
export async function findChanges(
  database: D1Database,
  publicSiteUrl: string,
  { limit, after }: { limit: number; after: ChangePlace | undefined },
): Promise<ChangePage> {
  const read = (statement: Statement<ChangeRow>, values: Values) => {
    const session = database.withSession('first-primary');
    const rendering = renderingOf(publicSiteUrl);
    return readD1(() => statement.rows(session, { ...values, rendering }));
  };
  const pageOf = (rows: ChangeRow[], start: number, goesOn: (shown: ChangeRow[]) => boolean) => {
    const page = takePage(itemsOf(rows.slice(0, limit), publicSiteUrl));
    const shown = page.map(({ row }) => row);
    return {
      changes: page.map(({ row, document }) => changeOf(row, document)),
      hasMore: goesOn(shown),
      resume: placeAfter(shown.at(-1), rows[shown.length], start, goesOn(shown)),
    };
  };
  const isShort = (rows: ChangeRow[]) => (shown: ChangeRow[]) => shown.length < rows.length;

  switch (after?.kind) {
    case undefined: {
      const rows = await read(FIRST, { rows: limit });
      const newest = rows.find(({ part }) => part === 'newest');
      const catalogue = rows.filter(({ part }) => part === 'catalogue');
      return pageOf(catalogue, newest?.change_seq ?? 0, (shown) =>
        isBefore(shown.at(-1), endOfCatalogue(newest)),
      );
    }
    case 'catalogue': {
      const { seq, start } = after;
      // An id and a space sort after that id and before any other: SQLite would read the listing again.
      const rows = await read(CATALOGUE, { seq, id: `${after.id} `, start, rows: limit + 1 });
      return pageOf(rows, start, isShort(rows));
    }
    case 'changes': {
      const rows = await read(CHANGES, { start: after.seq, rows: limit + 1 });
      return pageOf(rows, after.seq, isShort(rows));
    }
  }
}

/** Makes the items of a page. A removed listing has no document. */
function* itemsOf(rows: readonly ChangeRow[], publicSiteUrl: string) {
  for (const row of rows) {
    const document = row.status === 'hidden' ? null : (documentOf(row, publicSiteUrl) ?? null);
    yield { row, document, bytes: document === null ? 0 : byteLengthOf(document) };
  }
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
const isInList = sql`(${isPublic} or ${properties.change_seq} > 0)`;

const place = [sql`${properties.change_seq}`, sql`${properties.id}`];
const rows = sql`limit ${sql.placeholder('rows')} + 0`;

/** A hidden listing shows nothing of itself but its id and its last public slug. */
const shown = (part: ChangeRow['part'], index: SQL) => sql`
  select ${sql.raw(`'${part}'`)} as part, ${sql.join(place, sql`, `)}, ${properties.slug},
    ${properties.status}, ${properties.changed_at}, ${properties.removed_slug},
    ${properties.catalogue_end},
    case when ${isPublic} then ${columns.current_document.sql} end as current_document,
    case when ${isPublic} then ${columns.stale_source.sql} end as stale_source
  from ${properties} indexed by ${index}`;
const catalogue = shown('catalogue', sql`properties_by_publication`);
const changes = shown('change', sql`properties_by_change`);
const newest = sql`
  select 'newest' as part, ${sql.join(place, sql`, `)}, '' as slug, ${properties.status},
    null as changed_at, null as removed_slug, ${properties.catalogue_end},
    null as current_document, null as stale_source
  from ${properties} indexed by properties_by_change where ${isInList}
  order by change_seq desc, id desc limit 1`;
const changesAfter = (start: SQL) => sql`
  ${changes} where ${isInList} and ${properties.change_seq} > ${start}
  order by change_seq ${rows}`;
const start = sql`${sql.placeholder('start')}`;
const position = sql`(${sql.placeholder('seq')}, ${sql.placeholder('id')})`;

const FIRST = statementOf(sql<ChangeRow>`
  select * from (${catalogue} where ${isPublic} order by change_seq, id ${rows})
  union all select * from (${newest})`);

/** SQLite reads the second part only when the first does not fill the page. */
const CATALOGUE = statementOf(sql<ChangeRow>`
  select * from (${catalogue} where ${isPublic}
    and (${properties.change_seq}, ${properties.id}) > ${position}
    and ${properties.change_seq} <= ${start} order by change_seq, id ${rows})
  union all select * from (${changesAfter(start)}) ${rows}`);

const CHANGES = statementOf(sql<ChangeRow>`${changesAfter(start)}`);
