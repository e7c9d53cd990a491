/**
 * The keys in a record of a listings file: its own, and those of the records that it refers to. They
 * are read leniently, so that a record with a bad field is still checked against the others.
 */

import * as z from 'zod';
import { uuid } from '../../src/http/uuid.ts';
import { isSlug } from '../../src/properties/text.ts';

const idOrNone = uuid.optional().catch(undefined);
const slugOrNone = z.string().refine(isSlug).optional().catch(undefined);
const media = z
  .array(z.looseObject({ id: idOrNone }).catch({ id: undefined }))
  .transform((entries) => entries.map((entry) => entry.id))
  .catch([]);

const keys = z.object({
  id: idOrNone,
  slug: slugOrNone,
  location_id: idOrNone,
  hero_photo_id: idOrNone,
  photos: media,
  videos: media,
  amenities: z.array(slugOrNone).catch([]),
});

/** A key that is missing or malformed is `undefined`, in the lists too. */
export type RecordKeys = z.output<typeof keys>;

const NONE: RecordKeys = keys.parse({});

/** Returns the keys in a record of any kind. */
export function keysOf(record: unknown): RecordKeys {
  const parsed = keys.safeParse(record);
  return parsed.success ? parsed.data : NONE;
}
