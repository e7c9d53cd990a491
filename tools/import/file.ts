/**
 * Reads a listings file: its records, their keys, and every problem in the file alone. plan.ts finds the problems
 * against the store. Pure.
 */

import * as z from 'zod';
import { pathOf } from '../../src/http/errors.ts';
import { uuid } from '../../src/http/uuid.ts';
import { parseWith } from '../../src/http/validate.ts';
import { amenity } from '../../src/properties/resource.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { isSlug } from '../../src/properties/text.ts';
import { type JsonLoss, lossesOf } from './json-text.ts';
import { type ImportProblem, nameOf, type RecordName, THE_FILE } from './problem.ts';
import {
  amenityPatch,
  type FileListing,
  isMap,
  listingPatch,
  locationPatch,
  type Patch,
  withId,
  withMediaIds,
  writtenListing,
  writtenLocation,
} from './records.ts';

/** A record: its name in messages, the keys in it, and its value when the record is valid. */
export type FileRecord<T> = {
  name: RecordName;
  keys: RecordKeys;
  /** The field that gives the record its id. */
  idField: 'id' | 'hid' | 'slug';
  value: T | undefined;
};

/** The records of a file, valid or not, in its order. */
type Records<L, A, P> = {
  locations: FileRecord<L>[];
  amenities: FileRecord<A>[];
  properties: FileRecord<P>[];
};

/** A file whose records replace the stored ones. */
export type WholeFile = Records<Location, Amenity, FileListing> & { isPatch: false };

/** A file whose records are merged into the stored ones. */
export type PatchFile = Records<Patch, Patch, Patch> & { isPatch: true };

export type ListingsFile = WholeFile | PatchFile;

/** A readable file, with the problems found in it alone. */
export type ReadListings = { kind: 'read'; file: ListingsFile; problems: ImportProblem[] };

export type ReadFile =
  /** Some records could not be read, so the file is not compared with the store. */
  { kind: 'unreadable'; problems: ImportProblem[] } | ReadListings;

/** A record as it was read, and its place in the file: `properties[3]`, `row 12`. */
export type RawRecord = { place: string; value: unknown };

type Section = 'locations' | 'amenities' | 'properties';

const records = z.array(z.unknown()).default([]);
const sections = z.strictObject({
  locations: records,
  amenities: records,
  properties: records,
});
/** The sections of a file with further sections, or with a section that is no list. */
const readableSections = z.object({
  locations: records.catch([]),
  amenities: records.catch([]),
  properties: records.catch([]),
});

/** Reads the bytes of a listings file in JSON: every record, and every problem found in the file alone. */
export function readListingsFile(bytes: Uint8Array, { isPatch = false } = {}): ReadFile {
  const content = parseJson(bytes);
  if (!content.ok) return unreadable([{ path: '', message: content.message }]);
  // Of two sections with one name, it is not known which one was meant.
  const lostSections = content.losses.filter(({ path }) => path.length <= 1);
  if (lostSections.length > 0) return unreadable(lostSections.map(atPath));
  const whole = parseWith(sections, content.value);
  const parsed = whole.ok ? whole : parseWith(readableSections, content.value);
  if (!parsed.ok) return unreadable(parsed.problems);

  const ofTheFile = whole.ok ? [] : whole.problems.map(inFile);
  const { file, problems } = readRecords(
    {
      locations: placed('locations', parsed.value.locations),
      amenities: placed('amenities', parsed.value.amenities),
      properties: placed('properties', parsed.value.properties),
    },
    isPatch,
  );
  const lost = content.losses.map((loss) => lossIn(file, loss));
  const all = [...ofTheFile, ...lost, ...problems];
  return ofTheFile.some(({ path }) => path in parsed.value)
    ? { kind: 'unreadable', problems: all }
    : { kind: 'read', file, problems: all };
}

/** Reads the records of a file, and finds every problem in them. */
export function readRecords(raw: Record<Section, RawRecord[]>, isPatch: boolean) {
  const problems: ImportProblem[] = [];
  const read = <T>(section: Section, schema: z.ZodType<T>) =>
    raw[section].map((record) => readRecord(section, record, schema, isPatch, problems));
  const file: ListingsFile = isPatch
    ? {
        isPatch,
        locations: read('locations', locationPatch),
        amenities: read('amenities', amenityPatch),
        properties: read('properties', listingPatch),
      }
    : {
        isPatch,
        locations: read('locations', writtenLocation),
        amenities: read('amenities', amenity),
        properties: read('properties', writtenListing),
      };
  // The repeated keys of a patch are found when its stored records are known.
  if (!file.isPatch) problems.push(...repeatedKeys(file));
  return { file, problems };
}

function parseJson(
  bytes: Uint8Array,
): { ok: true; value: unknown; losses: JsonLoss[] } | { ok: false; message: string } {
  const text = utf8Of(bytes);
  if (text === undefined) return { ok: false, message: 'is not UTF-8 text' };
  try {
    return { ok: true, value: JSON.parse(text), losses: lossesOf(text) };
  } catch (error) {
    return { ok: false, message: `is not JSON: ${error instanceof Error ? error.message : ''}` };
  }
}

/** Decodes UTF-8, and drops a byte order mark at the head. Other bytes give undefined. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined;
  }
}

type ProblemAtPath = Omit<ImportProblem, 'record'>;

function unreadable(problems: readonly ProblemAtPath[]): ReadFile {
  return { kind: 'unreadable', problems: problems.map(inFile) };
}

function inFile(problem: ProblemAtPath): ImportProblem {
  return { record: THE_FILE, ...problem };
}

function atPath({ path, message }: JsonLoss): ProblemAtPath {
  return { path: pathOf(path), message };
}

/** Makes a problem of a loss. It names the record when the loss is in one. */
function lossIn(file: ListingsFile, { path, message }: JsonLoss): ImportProblem {
  const [section, index, ...rest] = path;
  const records = Object.entries(file).find(([name]) => name === section)?.[1];
  const record = Array.isArray(records) && typeof index === 'number' ? records[index] : undefined;
  return record === undefined
    ? inFile(atPath({ path, message }))
    : { record: record.name, ...atPath({ path: rest, message }) };
}

function placed(section: Section, values: readonly unknown[]): RawRecord[] {
  return values.map((value, index) => ({ place: `${section}[${index}]`, value }));
}

/** Reads a record, and adds its problems to `problems`. */
function readRecord<T>(
  section: Section,
  { place, value }: RawRecord,
  schema: z.ZodType<T>,
  isPatch: boolean,
  problems: ImportProblem[],
): FileRecord<T> {
  const record = isPatch ? value : identified(section, value);
  const name = recordName(place, value);
  const keys = keysOf(record);
  const hasId = isMap(value) && value.id !== undefined;
  const idField = hasId ? 'id' : keys.hid === undefined ? 'slug' : 'hid';
  const parsed = parseWith(schema, record);
  const found = parsed.ok ? [] : parsed.problems;
  const ofKeys = [
    ...doubleReferences(value),
    ...repeatedEntries(keys),
    ...(isPatch ? [] : heroProblems(keys)),
  ];
  for (const problem of [...found, ...ofKeys]) {
    problems.push({ record: name, value: valueAt(value, problem), ...problem });
  }
  return { name, keys, idField, value: parsed.ok ? parsed.value : undefined };
}

/** Gives a record without an id its id. The key of an amenity is its slug. */
function identified(section: Section, value: unknown): unknown {
  if (!isMap(value) || section === 'amenities') return value;
  return section === 'locations'
    ? withId(value, 'slug')
    : withMediaIds(withId(value, 'hid', 'slug'));
}

const idOrNone = uuid.optional().catch(undefined);
const textOrNone = z.string().min(1).optional().catch(undefined);
const slugOrNone = z.string().refine(isSlug).optional().catch(undefined);
const medium = z.looseObject({ id: idOrNone, url: textOrNone });
const media = z.array(medium.transform(({ id, url }) => id ?? url).catch(undefined)).catch([]);

/**
 * The keys in a record of any kind: its own keys, and the keys of the records that it refers to. They are read
 * leniently, so that a record with a bad field is still checked against the others.
 */
const keys = z.object({
  id: idOrNone,
  hid: textOrNone,
  slug: slugOrNone,
  location_id: idOrNone,
  location: slugOrNone,
  hero_photo_id: idOrNone,
  photos: media,
  videos: media,
  amenities: z.array(slugOrNone).catch([]),
});

/**
 * A key that is missing or malformed is `undefined`, in the lists too. The key of a photo or video without an id is its
 * address.
 */
export type RecordKeys = z.output<typeof keys>;

/** Returns the keys in a record of any kind. */
export function keysOf(record: unknown): RecordKeys {
  return keys.safeParse(record).data ?? keys.parse({});
}

/** Names a record by its place and by the first of its keys, valid or not. */
export function recordName(place: string, record: unknown): RecordName {
  if (!isMap(record)) return { place };
  for (const field of ['slug', 'hid', 'name', 'id']) {
    const value = record[field];
    if (typeof value === 'string' && value !== '') return { place, key: { field, value } };
  }
  return { place };
}

/** Returns the value at fault; undefined for an unknown field, whose name is the fault. */
function valueAt(record: unknown, { path, message }: ProblemAtPath): unknown {
  if (path === '' || message.startsWith('is not a field')) return undefined;
  return path.split('.').reduce<unknown>((value, name) => {
    if (Array.isArray(value)) return value[Number(name)];
    return isMap(value) ? value[name] : undefined;
  }, record);
}

/** Returns a problem for every id and slug that an earlier record has. */
export function repeatedKeys({ locations, amenities, properties }: WholeFile): ImportProblem[] {
  return [
    ...repeatsOf(locations, ['id', 'slug']),
    ...repeatsOf(amenities, ['slug']),
    ...repeatsOf(properties, ['id', 'slug']),
  ];
}

function repeatsOf(
  records: readonly FileRecord<unknown>[],
  fields: readonly ('id' | 'slug')[],
): ImportProblem[] {
  const problems = fields.flatMap((field) =>
    repeated(records, ({ keys }) => keys[field]).map(({ entry, first }): ImportProblem => {
      const path = field === 'id' ? entry.idField : field;
      const message =
        path === field
          ? `repeats the ${field} of ${nameOf(first.name)}`
          : `gives the id of ${nameOf(first.name)}`;
      return { record: entry.name, path, message, value: entry.keys[path] };
    }),
  );
  // An id that follows from a slug repeats with the slug.
  return [...new Map(problems.map((each) => [`${each.record.place} ${each.path}`, each])).values()];
}

/** Returns a problem for every photo, video and amenity that a listing has twice. */
function repeatedEntries({ photos, videos, amenities }: RecordKeys): ProblemAtPath[] {
  return Object.entries({ photos, videos, amenities }).flatMap(([list, listed]) =>
    repeated([...listed.entries()], ([, key]) => key).map(({ entry, first }) => ({
      path: `${list}.${entry[0]}`,
      message: `repeats ${list}.${first[0]}`,
      value: entry[1],
    })),
  );
}

/** Returns the entries whose key an earlier entry has, each with this first entry. */
function repeated<T>(entries: readonly T[], keyOf: (entry: T) => string | undefined) {
  const firsts = new Map<string, T>();
  return entries.flatMap((entry) => {
    const key = keyOf(entry);
    const first = key === undefined ? undefined : firsts.get(key);
    if (first !== undefined) return [{ entry, first }];
    if (key !== undefined) firsts.set(key, entry);
    return [];
  });
}

/** Returns a problem for a location or a hero photo that is named in two ways. */
function doubleReferences(record: unknown): ProblemAtPath[] {
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]) =>
    isMap(record) && record[path] !== undefined && record[other] !== undefined
      ? [{ path, message: `must not stand beside ${other}` }]
      : [],
  );
}

/** Returns a problem for a hero photo that is none of the listing's photos. */
export function heroProblems({ hero_photo_id, photos }: RecordKeys): ProblemAtPath[] {
  if (hero_photo_id === undefined || photos.includes(hero_photo_id)) return [];
  const message = 'must be the id of one of the photos of this listing';
  return [{ path: 'hero_photo_id', message, value: hero_photo_id }];
}
