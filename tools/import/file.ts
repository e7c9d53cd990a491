/** Reads a listings file: its records, their keys, and every problem in the file alone. Pure. */

import * as z from 'zod';
import { pathOf } from '../../src/http/errors.ts';
import { uuid } from '../../src/schema.ts';
// Gives zod's issues the sentences of this service.
import '../../src/http/validate.ts';
import { amenity } from '../../src/properties/resource.ts';
import { slug } from '../../src/properties/slug.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { type Fault, type ImportProblem, nameOf, type RecordName, THE_FILE } from './problem.ts';
import { parseJson } from './read/json.ts';
import { isMap } from './read/listing-schemas.ts';
import {
  type FileListing,
  type Patch,
  withId,
  withMediaIds,
  writtenListing,
  writtenLocation,
} from './read/records.ts';

/** A record: its name in messages, the keys in it, and its value when the record is valid. */
export type FileRecord<T> = {
  name: RecordName;
  keys: RecordKeys;
  /** The field that gives the record its id. */
  idField: 'id' | 'hid' | 'slug';
  value: T | undefined;
};

type Records<L, A, P> = {
  locations: FileRecord<L>[];
  amenities: FileRecord<A>[];
  properties: FileRecord<P>[];
};

/** A file whose records replace the stored ones. */
export type WholeFile = Records<Location, Amenity, FileListing> & { isPatch: false };

/** A file whose records are merged into the stored ones, and validated then. */
export type PatchFile = Records<Patch, Patch, Patch> & { isPatch: true };

export type ReadableFile = {
  kind: 'read';
  file: WholeFile | PatchFile;
  problems: ImportProblem[];
  /** Whether a record of a patch that names no stored listing is a problem, and no new listing. */
  mustBeStored?: boolean;
};

/** `unreadable`: some records could not be read, so the file is not compared with the store. */
export type ReadFile = { kind: 'unreadable'; problems: ImportProblem[] } | ReadableFile;

export type RawRecord = { name: RecordName; value: unknown };

const KINDS = { locations: 'location', amenities: 'amenity', properties: 'listing' } as const;

type Section = keyof typeof KINDS;

const records = z.array(z.unknown()).default([]);
const sections = z.strictObject({ locations: records, amenities: records, properties: records });

/** Reads the bytes of a listings file in JSON. */
export function readListingsFile(bytes: Uint8Array, { isPatch = false } = {}): ReadFile {
  const text = utf8Of(bytes);
  if (text === undefined) return unreadable([{ path: '', code: 'not_utf8' }]);
  const { value, losses } = parseJson(text);
  // Of two sections with one name, it is not known which one was meant.
  const lostSections = losses.filter(({ path }) => path.length <= 1);
  if (lostSections.length > 0) {
    return unreadable(lostSections.map((loss) => ({ ...loss, path: pathOf(loss.path) })));
  }
  const ofFile = parsed(sections, value).faults.map((fault) => ({ ...fault, value: undefined }));
  if (!isMap(value)) return unreadable(ofFile);

  const raw = (section: Section): RawRecord[] => {
    const kind = KINDS[section];
    return listOf(value[section]).map((each, index) => ({
      name: recordName({ kind, place: `${section}[${index}]` }, each),
      value: each,
    }));
  };
  const { file, problems } = readRecords(
    { locations: raw('locations'), amenities: raw('amenities'), properties: raw('properties') },
    isPatch,
  );
  const lost = losses.map(({ path, ...fault }): ImportProblem => {
    const [section, index, ...rest] = path;
    const record = isSection(section) ? file[section][Number(index)] : undefined;
    return record === undefined
      ? { record: THE_FILE, path: pathOf(path), ...fault }
      : { record: record.name, path: pathOf(rest), ...fault };
  });
  return {
    kind: ofFile.some(({ path }) => isSection(path)) ? 'unreadable' : 'read',
    file,
    problems: [...unreadable(ofFile).problems, ...lost, ...problems],
  };
}

const patchRecord = z.custom<Patch>(isMap, 'must be of type object');

/** Reads records. A patch is validated when its stored records are known. */
export function readRecords(raw: Record<Section, RawRecord[]>, isPatch: boolean) {
  const problems: ImportProblem[] = [];
  const read = <T>(section: Section, schema: z.ZodType<T>) =>
    raw[section].map((record) => readRecord(section, record, schema, isPatch, problems));
  const file: WholeFile | PatchFile = isPatch
    ? {
        isPatch,
        locations: read('locations', patchRecord),
        amenities: read('amenities', patchRecord),
        properties: read('properties', patchRecord),
      }
    : {
        isPatch,
        locations: read('locations', writtenLocation),
        amenities: read('amenities', amenity),
        properties: read('properties', writtenListing),
      };
  if (!file.isPatch) problems.push(...repeatedKeys(file));
  return { file, problems };
}

/** Decodes UTF-8, and drops a byte order mark at the head. Other bytes give undefined. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the parsed value, or every fault of it. The faults show the values in `raw`. */
export function parsed<T>(
  schema: z.ZodType<T>,
  value: unknown,
  raw = value,
): { value?: T; faults: Fault[] } {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { value: data, faults: [] };
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const faults = error.issues.flatMap((issue) => faultsOfIssue(issue, raw, fields));
  const paths = new Set(faults.map(({ path }) => path));
  return {
    faults: faults.flatMap((fault) => {
      // An id follows from another key: a record without both lacks that key.
      if (fault.code !== 'missing' || !/(^|\.)id$/.test(fault.path)) return [fault];
      const path = fault.path.replace(/id$/, fault.path === 'id' ? 'slug' : 'url');
      return paths.has(path) ? [] : [{ ...fault, path }];
    }),
  };
}

function faultsOfIssue(issue: z.core.$ZodIssue, root: unknown, fields: readonly string[]): Fault[] {
  const segments = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const known = segments.length === 0 ? fields : [];
    return issue.keys.map((key) => ({
      path: pathOf([...segments, key]),
      code: 'unknown_field',
      unknown: { name: key, known },
    }));
  }
  const path = pathOf(segments);
  const value = path === '' ? undefined : valueAt(root, path);
  // The reader of the text reports it.
  if (typeof value === 'number' && !Number.isFinite(value)) return [];
  const isWrongKind = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  const code = isWrongKind && path !== '' && value === undefined ? 'missing' : 'invalid';
  return [{ path, code, details: [issue.message], value }];
}

function valueAt(root: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    if (Array.isArray(value)) return value[Number(name)];
    return isMap(value) ? value[name] : undefined;
  }, root);
}

export function unreadable(faults: readonly Fault[]): ReadFile {
  return { kind: 'unreadable', problems: faults.map((fault) => ({ record: THE_FILE, ...fault })) };
}

function isSection(name: unknown): name is Section {
  return typeof name === 'string' && Object.hasOwn(KINDS, name);
}

function readRecord<T>(
  section: Section,
  { name, value }: RawRecord,
  schema: z.ZodType<T>,
  isPatch: boolean,
  problems: ImportProblem[],
): FileRecord<T> {
  const record = isPatch ? value : identified(section, value);
  const keys = keysOf(record);
  const hasId = isMap(value) && value.id !== undefined;
  const idField = hasId ? 'id' : keys.hid === undefined ? 'slug' : 'hid';
  const { value: own, faults } = parsed(schema, record, value);
  // The entries of a patch are checked after the merge.
  const ofEntries = isPatch ? [] : entryFaults(keys);
  for (const fault of [...faults, ...doubleReferences(value), ...ofEntries]) {
    problems.push({ record: name, ...fault });
  }
  return { name, keys, idField, value: own };
}

/** Gives a record without an id its id. The key of an amenity is its slug. */
function identified(section: Section, value: unknown): unknown {
  if (!isMap(value) || section === 'amenities') return value;
  return section === 'locations'
    ? withId(value, 'slug')
    : withMediaIds(withId(value, 'hid', 'slug'));
}

/** Returns the keys in a record, and of its references. A malformed key is undefined. */
export function keysOf(record: unknown) {
  const fields = isMap(record) ? record : {};
  const idOf = (value: unknown) => uuid.safeParse(value).data;
  const slugOf = (value: unknown) => slug.safeParse(value).data;
  const idsIn = (list: unknown) =>
    listOf(list).map((each) => (isMap(each) ? idOf(each.id) : undefined));
  return {
    id: idOf(fields.id),
    hid: typeof fields.hid === 'string' && fields.hid !== '' ? fields.hid : undefined,
    slug: slugOf(fields.slug),
    location_id: idOf(fields.location_id),
    location: slugOf(fields.location),
    hero_photo_id: idOf(fields.hero_photo_id),
    photos: idsIn(fields.photos),
    videos: idsIn(fields.videos),
    amenities: listOf(fields.amenities).map(slugOf),
  };
}

export type RecordKeys = ReturnType<typeof keysOf>;

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Names a record by its place and by the first of its keys, valid or not. */
export function recordName(name: RecordName, record: unknown): RecordName {
  if (!isMap(record)) return name;
  for (const field of ['slug', 'hid', 'name', 'id']) {
    const value = record[field];
    if (typeof value === 'string' && value !== '') return { ...name, key: { field, value } };
  }
  return name;
}

export function repeatedKeys({ locations, amenities, properties }: WholeFile): ImportProblem[] {
  return [locations, amenities, properties].flatMap(repeatsOf);
}

function repeatsOf(records: readonly FileRecord<unknown>[]): ImportProblem[] {
  const problems = (['id', 'slug'] as const).flatMap((field) =>
    repeated(records, ({ keys }) => keys[field]).map(({ entry, first }): ImportProblem => {
      const path = field === 'id' ? entry.idField : field;
      const details = [`the ${field} of ${nameOf(first.name)}`];
      return { record: entry.name, path, code: 'repeats', details, value: entry.keys[path] };
    }),
  );
  // An id that follows from a slug repeats with the slug.
  return [...new Map(problems.map((each) => [`${each.record.place} ${each.path}`, each])).values()];
}

/** Rejects repeated photos, videos and amenities, and the hero photo of another listing. */
export function entryFaults({ photos, videos, amenities, ...keys }: RecordKeys): Fault[] {
  const faults = Object.entries({ photos, videos, amenities }).flatMap(([list, listed]) =>
    repeated([...listed.entries()], ([, key]) => key).map(
      ({ entry: [index, value], first }): Fault => ({
        path: `${list}.${index}`,
        code: 'repeats',
        details: [`${list}.${first[0]}`],
        value,
      }),
    ),
  );
  const value = keys.hero_photo_id;
  if (value === undefined || photos.includes(value)) return faults;
  return [...faults, { path: 'hero_photo_id', code: 'hero_id', value }];
}

/** Each entry comes with the first entry of its key. */
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

function doubleReferences(record: unknown): Fault[] {
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]): Fault[] =>
    isMap(record) && record[path] !== undefined && record[other] !== undefined
      ? [{ path, code: 'two_names', details: [other], value: record[path] }]
      : [],
  );
}
