/** The property change: an item of the list of changes, and the cursor to what follows one. */

import * as z from 'zod';
import { type CursorScope, encodeCursor } from '../http/cursor.ts';
import { cursorText, listOf } from '../http/paging.ts';
import { lowerCaseUuid, uuid } from '../http/uuid.ts';
import { property } from './resource.ts';

/** A place in the list of changes. */
export type ChangePlace =
  /** A place in the public catalogue, which a reader gets first; the changes after `start` follow it. */
  | { kind: 'catalogue'; seq: number; id: string; start: number }
  /** A place in the changes, removals among them. */
  | { kind: 'changes'; seq: number };

/** The cursors of the list: they are made without filters. */
export const CHANGES_SCOPE: CursorScope = { list: 'property-changes' };

const sequence = z.int().min(0);

/** A place as a cursor carries it. */
export const changePlace: z.ZodType<ChangePlace> = z.union([
  z
    .tuple([sequence, uuid, sequence])
    .transform(([seq, id, start]) => ({ kind: 'catalogue' as const, seq, id, start })),
  z.tuple([sequence]).transform(([seq]) => ({ kind: 'changes' as const, seq })),
]);

/** Returns what a cursor carries of a place. */
export function positionOf(place: ChangePlace): number[] | [number, string, number] {
  return place.kind === 'changes' ? [place.seq] : [place.seq, place.id, place.start];
}

/** Makes the cursor to what follows a place. */
export function changeCursor(place: ChangePlace): Promise<string> {
  return encodeCursor(CHANGES_SCOPE, positionOf(place));
}

/** An item of the list. */
export const propertyChange = z.strictObject({
  object: z.literal('property_change'),
  id: lowerCaseUuid,
  slug: property.shape.slug,
  change: z.enum(['published', 'removed']),
  changed_at: z.iso.datetime().max(30).nullable(),
  property: property.nullable(),
});

/** A page of changes. */
export const changeList = listOf(propertyChange).extend({ resume_cursor: cursorText });

export type ChangeList = z.infer<typeof changeList>;
