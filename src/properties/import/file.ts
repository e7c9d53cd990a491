/**
 * A listings file, read whole: its records, and everything in it that is wrong by itself.
 * What can only be wrong against the store is in `plan.ts`. Pure.
 */

import * as z from 'zod';
import { parseWith } from '../../http/validate.ts';
import {
  type Amenity,
  type Listing,
  type Location,
  listing,
  writtenAmenity,
  writtenLocation,
} from '../source.ts';
import { keysOf, type RecordKeys } from './keys.ts';

/** A problem of one record, or of the file as a whole (`record` is then `the file`). */
export type ImportProblem = {
  /** `properties[3] (slug "casa-marea")` */
  record: string;
  /** Dotted: `photos.0.url`; `""` for the record as a whole. */
  path: string;
  /** The end of a sentence that begins with the path. */
  message: string;
};

/** A record: how it is called in messages, what it names, and its value when that is valid. */
export type FileRecord<T> = { name: string; keys: RecordKeys; value: T | undefined };

export type ListingsFile = {
  locations: FileRecord<Location>[];
  amenities: FileRecord<Amenity>[];
  properties: FileRecord<Listing>[];
};

export type ReadFile =
  /** It has no records that could be looked at. */
  | { kind: 'unreadable'; problems: ImportProblem[] }
  | { kind: 'read'; file: ListingsFile; problems: ImportProblem[] };

const sections = z.strictObject({
  locations: z.array(z.unknown()).default([]),
  amenities: z.array(z.unknown()).default([]),
  properties: z.array(z.unknown()).default([]),
});

/** Reads the bytes of a listings file: every record, and every problem found in the file alone. */
export function readListingsFile(bytes: Uint8Array): ReadFile {
  const content = parseJson(bytes);
  if (!content.ok) return unreadable([{ path: '', message: content.message }]);
  const parsed = parseWith(sections, content.value);
  if (!parsed.ok) return unreadable(parsed.problems);

  const problems: ImportProblem[] = [];
  const file: ListingsFile = {
    locations: readSection('locations', writtenLocation, parsed.value.locations, problems),
    amenities: readSection('amenities', writtenAmenity, parsed.value.amenities, problems),
    properties: readSection('properties', listing, parsed.value.properties, problems),
  };
  problems.push(
    ...repeated(file.locations, 'id'),
    ...repeated(file.locations, 'slug'),
    ...repeated(file.amenities, 'slug'),
    ...repeated(file.properties, 'id'),
    ...repeated(file.properties, 'slug'),
    ...file.properties.flatMap(mediaProblems),
  );
  return { kind: 'read', file, problems };
}

/** The problem as one line: `properties[3] (slug "x"): photos.0.url must be …`. */
export function problemLine({ record, path, message }: ImportProblem): string {
  return `${record}: ${path === '' ? message : `${path} ${message}`}`;
}

function parseJson(
  bytes: Uint8Array,
): { ok: true; value: unknown } | { ok: false; message: string } {
  let text: string;
  try {
    // A byte order mark at the head is dropped by the decoder.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return { ok: false, message: 'is not UTF-8 text' };
  }
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `is not JSON: ${error instanceof Error ? error.message : ''}` };
  }
}

function unreadable(problems: readonly { path: string; message: string }[]): ReadFile {
  return {
    kind: 'unreadable',
    problems: problems.map((problem) => ({ record: 'the file', ...problem })),
  };
}

function readSection<S extends z.ZodType>(
  section: string,
  schema: S,
  values: readonly unknown[],
  problems: ImportProblem[],
): FileRecord<z.output<S>>[] {
  return values.map((value, index) => {
    const keys = keysOf(value);
    const name = `${section}[${index}]${labelOf(keys)}`;
    const parsed = parseWith(schema, value);
    if (!parsed.ok)
      problems.push(...parsed.problems.map((problem) => ({ record: name, ...problem })));
    return { name, keys, value: parsed.ok ? parsed.value : undefined };
  });
}

function labelOf({ slug, id }: RecordKeys): string {
  if (slug !== undefined) return ` (slug ${JSON.stringify(slug)})`;
  return id === undefined ? '' : ` (id ${JSON.stringify(id)})`;
}

/** A problem for every record whose key an earlier record of the section has. */
function repeated(records: readonly FileRecord<unknown>[], key: 'id' | 'slug'): ImportProblem[] {
  const firsts = new Map<string, string>();
  return records.flatMap(({ name, keys }) => {
    const value = keys[key];
    if (value === undefined) return [];
    const first = firsts.get(value);
    if (first === undefined) {
      firsts.set(value, name);
      return [];
    }
    return [{ record: name, path: key, message: `stands twice: it is that of ${first} too` }];
  });
}

/** Photo and video ids are unique in their listing; the hero photo is one of its photos. */
function mediaProblems({ name, keys }: FileRecord<Listing>): ImportProblem[] {
  const problems = (['photos', 'videos'] as const).flatMap((list) =>
    keys[list].flatMap((id, index) => {
      const first = keys[list].indexOf(id);
      if (id === undefined || first === index) return [];
      return [
        {
          record: name,
          path: `${list}.${index}.id`,
          message: `stands twice: it is that of ${list}.${first} too`,
        },
      ];
    }),
  );
  if (keys.heroPhotoId !== undefined && !keys.photos.includes(keys.heroPhotoId)) {
    const message = 'must be the id of one of the photos of this listing';
    problems.push({ record: name, path: 'hero_photo_id', message });
  }
  return problems;
}
