/**
 * Reads the list of changes from the primary database, so that it includes every change of a finished
 * import. Each listing has one position in the list, which its latest change assigns. Readers get these
 * changes:
 *
 *     listings, by position          in a first pass      after position 2
 *     1  casa-marea      listed      published            —
 *     2  cala-llonga     hidden      skipped              —
 *     3  sa-domu-rubia   hidden      skipped              removed
 *     4  casa-ginebrera  listed      published            published
 *
 * A listing that is removed during a first pass is not skipped, because the reader may already have it.
 */

import { and, gt, ne, or, sql } from 'drizzle-orm';
import * as z from 'zod';
import {
  type CursorScope,
  decodeCursor,
  encodeCursor,
  invalidCursor,
  writePage,
  writeWithField,
} from '../http/paging.ts';
import { nullIfOversized, readPage } from '../storage/page.ts';
import { createStatement, placeholder, queryBuilder } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import { pickLocales } from './locale-map.ts';
import { formatRendering } from './render.ts';
import { formatListing } from './store.ts';
import { properties } from './table.ts';

type ChangePosition = {
  /** Generation of the database (src/storage/table.ts). Positions from another generation are invalid. */
  generation: string;
  /** Position of the last change that the reader has. */
  seq: number;
  /** Newest position when the reader began its first pass. Removals up to this position are skipped. */
  start: number;
};

const SCOPE: CursorScope = { list: 'property-changes' };

const changePosition: z.ZodType<ChangePosition> = z
  .tuple([z.string(), z.int(), z.int()])
  .transform(([generation, seq, start]) => ({ generation, seq, start }));

/** Decodes a cursor. Throws `invalid_cursor` if it belongs to another list. */
export function decodeChangePosition(cursor: string | undefined): ChangePosition | undefined {
  return decodeCursor(cursor, SCOPE, changePosition, 'after');
}

/** Encodes a cursor. Raises `start` to `seq`, because a smaller `start` has no effect on a reader at `seq`. */
export function changeCursor({ generation, seq, start }: ChangePosition): string {
  return encodeCursor(SCOPE, [generation, seq, Math.max(seq, start)]);
}

type ChangesRequest = {
  limit: number;
  after: ChangePosition | undefined;
  locale: readonly string[] | undefined;
};

const { change_seq, id, slug, status, removed_slug, former_slugs, document, source } = properties;

const isRendered = sql<number>`${properties.rendering} = ${placeholder('rendering')}`;

/** Selects the generation and, for a first page, the newest position. Reads one row for each. */
const LIST_STATE = createStatement(
  queryBuilder
    .select({
      generation: databaseIdentity.generation,
      newest: sql<number | null>`iif(${placeholder('begins')},
        (select max(${change_seq}) from ${properties}), null)`.as('newest'),
    })
    .from(databaseIdentity),
);

/** Selects a page of changes, with the `ListingText` of each document. */
const CHANGES = createStatement(
  queryBuilder
    .select({
      change_seq,
      id,
      slug,
      status,
      changed_at: sql<number>`${properties.changed_at}`.as('changed_at'),
      removed_slug,
      former_slugs,
      is_rendered: isRendered.as('is_rendered'),
      text: sql<string | null>`iif(${isRendered},
        ${nullIfOversized(document)}, ${nullIfOversized(source)})`.as('text'),
    })
    .from(properties)
    .where(
      and(
        gt(change_seq, placeholder('afterSeq')),
        or(ne(status, 'hidden'), gt(change_seq, placeholder('start'))),
      ),
    )
    .orderBy(change_seq)
    .limit(sql.placeholder('maxRows')),
);

type ChangeRow = Awaited<ReturnType<typeof CHANGES.rows>>[number];

/**
 * Reads the page after a position, or the first page, as JSON text of a `PropertyChangeList`. Throws
 * `invalid_cursor` for a position from another generation.
 *
 * D1 reads the rows of `LIST_STATE`, `limit + 1` changes, and, in a first pass, the removals that it
 * skips.
 */
export async function readChanges(
  database: D1Database,
  publicSiteUrl: string,
  { limit, after, locale }: ChangesRequest,
): Promise<{ json: string; isEmpty: boolean; position: ChangePosition }> {
  const { state, documents, last, hasMore } = await readPage({
    connection: database.withSession('first-primary'),
    state: LIST_STATE,
    page: CHANGES,
    values: {
      begins: after === undefined ? 1 : 0,
      afterSeq: after?.seq ?? 0,
      start: after?.start ?? Number.MAX_SAFE_INTEGER,
      rendering: formatRendering(publicSiteUrl),
    },
    limit,
    format: (row: ChangeRow) => formatChange(row, publicSiteUrl, locale),
  });
  const { generation, newest } = state;
  // A rewind may have undone the change at this position, which may be assigned to another change.
  if (after !== undefined && after.generation !== generation) throw invalidCursor('after');

  const start = after?.start ?? newest ?? 0;
  const end = last?.change_seq ?? after?.seq ?? 0;
  // The last page of a first pass ends after the removals that it skipped.
  const seq = hasMore ? end : Math.max(start, end);
  const position = { generation, seq, start };
  const cursor = changeCursor(position);
  const json = writePage(documents, hasMore ? cursor : null, { resume_cursor: cursor });
  return { json, isEmpty: documents.length === 0, position };
}

/** Returns a `PropertyChange` as JSON text; undefined if its document was too large. */
function formatChange(
  row: ChangeRow,
  publicSiteUrl: string,
  locale: ChangesRequest['locale'],
): string | undefined {
  const isRemoved = row.status === 'hidden';
  const property = isRemoved ? 'null' : formatListing(row, publicSiteUrl, 'document');
  if (property === undefined) return undefined;
  const change = {
    object: 'property_change',
    id: row.id,
    slug: isRemoved ? (row.removed_slug ?? row.slug) : row.slug,
    former_slugs: JSON.parse(row.former_slugs),
    change: isRemoved ? 'removed' : 'published',
    changed_at: new Date(row.changed_at).toISOString(),
  };
  return writeWithField(change, 'property', locale ? pickLocales(property, locale) : property);
}
