/**
 * A listings file, read whole: its records, and everything in it that is wrong by itself.
 * What can only be wrong against the store is in `plan.ts`. Pure.
 */

import * as z from 'zod';
import { parseWith } from '../../src/http/validate.ts';
import {
  type Amenity,
  type Listing,
  type Location,
  listing,
  writtenAmenity,
  writtenLocation,
} from '../../src/properties/source.ts';
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

type ProblemAtPath = Omit<ImportProblem, 'record'>;

/** A record: how it is called in messages, what it names, and its value when that is valid. */
export type FileRecord<T> = { name: string; keys: RecordKeys; value: T | undefined };

/** The records of a file, valid or not, in its order. */
export type ListingsFile = {
  locations: FileRecord<Location>[];
  amenities: FileRecord<Amenity>[];
  properties: FileRecord<Listing>[];
};

/** What reading a file gives. */
export type ReadFile =
  /** Records of it, or all, could not be looked at, so that it is not compared with the store. */
  | { kind: 'unreadable'; problems: ImportProblem[] }
  | { kind: 'read'; file: ListingsFile; problems: ImportProblem[] };

/** What stands in a listing once. */
const MEMBERS = ['photos', 'videos', 'amenities'] as const;

const records = z.array(z.unknown()).default([]);
const sections = z.strictObject({
  locations: records,
  amenities: records,
  properties: records,
});
/** The same of a file that has more than these sections, or one that is no list. */
const readableSections = z.object({
  locations: records.catch([]),
  amenities: records.catch([]),
  properties: records.catch([]),
});

/** Reads the bytes of a listings file: every record, and every problem found in the file alone. */
export function readListingsFile(bytes: Uint8Array): ReadFile {
  const content = parseJson(bytes);
  if (!content.ok) return unreadable([{ path: '', message: content.message }]);
  const whole = parseWith(sections, content.value);
  const parsed = whole.ok ? whole : parseWith(readableSections, content.value);
  if (!parsed.ok) return unreadable(parsed.problems);

  const problems = whole.ok ? [] : ofTheFile(whole.problems);
  const isWithoutSection = problems.some(({ path }) => path in parsed.value);
  const file: ListingsFile = {
    locations: readSection('locations', writtenLocation, parsed.value.locations, problems),
    amenities: readSection('amenities', writtenAmenity, parsed.value.amenities, problems),
    properties: readSection('properties', listing, parsed.value.properties, problems),
  };
  const inListings = file.properties.flatMap((each) => [
    ...MEMBERS.flatMap((list) => repeated(placesIn(each, list))),
    ...heroProblems(each),
  ]);
  const between = [
    ...repeated(placesOf(file.locations, 'id')),
    ...repeated(placesOf(file.locations, 'slug')),
    ...repeated(placesOf(file.amenities, 'slug')),
    ...repeated(placesOf(file.properties, 'id')),
    ...repeated(placesOf(file.properties, 'slug')),
  ];
  const all = [...problems, ...between, ...inListings];
  return isWithoutSection
    ? { kind: 'unreadable', problems: all }
    : { kind: 'read', file, problems: all };
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

function unreadable(problems: readonly ProblemAtPath[]): ReadFile {
  return { kind: 'unreadable', problems: ofTheFile(problems) };
}

function ofTheFile(problems: readonly ProblemAtPath[]): ImportProblem[] {
  return problems.map((problem) => ({ record: 'the file', ...problem }));
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
    if (parsed.ok) return { name, keys, value: parsed.value };
    for (const problem of parsed.problems) problems.push({ record: name, ...problem });
    return { name, keys, value: undefined };
  });
}

function labelOf({ slug, id }: RecordKeys): string {
  if (slug !== undefined) return ` (slug ${JSON.stringify(slug)})`;
  return id === undefined ? '' : ` (id ${JSON.stringify(id)})`;
}

/** Where a key stands: a problem of it is told under `record` and `path`; `name` is for others to point there. */
type Place = { key: string | undefined; record: string; path: string; name: string };

function placesOf(records: readonly FileRecord<unknown>[], path: 'id' | 'slug'): Place[] {
  return records.map(({ name, keys }) => ({ key: keys[path], record: name, path, name }));
}

function placesIn(record: FileRecord<Listing>, list: (typeof MEMBERS)[number]): Place[] {
  return record.keys[list].map((key, index) => {
    const name = `${list}.${index}`;
    return { key, record: record.name, path: list === 'amenities' ? name : `${name}.id`, name };
  });
}

/** A problem for every place whose key stands in an earlier one. */
function repeated(places: readonly Place[]): ImportProblem[] {
  const firsts = new Map<string, string>();
  return places.flatMap(({ key, record, path, name }) => {
    if (key === undefined) return [];
    const first = firsts.get(key);
    if (first === undefined) {
      firsts.set(key, name);
      return [];
    }
    return [{ record, path, message: `stands twice: it is that of ${first} too` }];
  });
}

/** The hero photo is one of the listing's own. */
function heroProblems({ name, keys }: FileRecord<Listing>): ImportProblem[] {
  if (keys.heroPhotoId === undefined || keys.photos.includes(keys.heroPhotoId)) return [];
  const message = 'must be the id of one of the photos of this listing';
  return [{ record: name, path: 'hero_photo_id', message }];
}
