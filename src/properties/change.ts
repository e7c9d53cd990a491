/** The property change: an item of the list of changes, and the cursor to what follows one. */

import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { type CursorScope, cursorText, encodeCursor, listOf } from '../http/paging.ts';
import { lowerCaseUuid, uuid } from '../http/uuid.ts';
import { statementOf } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import { property } from './resource.ts';

/** A place in the list of changes, of one generation of the database: see `database_identity`. */
export type ChangePlace = { generation: string } & (
  | /** A place in the public catalogue, which a reader gets first; the changes after `start` follow it. */ {
      kind: 'catalogue';
      seq: number;
      id: string;
      start: number;
    }
  | /** A place in the changes, removals among them. */ { kind: 'changes'; seq: number }
);

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

/** Returns what a cursor carries of a place. */
export function positionOf(place: ChangePlace): (string | number)[] {
  const { generation, seq } = place;
  return place.kind === 'changes' ? [generation, seq] : [generation, seq, place.id, place.start];
}

/** Makes the cursor to what follows a place. */
export function changeCursor(place: ChangePlace): Promise<string> {
  return encodeCursor(CHANGES_SCOPE, positionOf(place));
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

export type ChangeList = z.infer<typeof changeList>;
