/** Reads the records of a listings file, and finds every problem in the file alone. Pure. */

import * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/resource.ts';
import { isMap } from './listing-schemas.ts';
import { parsed } from './parse.ts';
import { type Fault, type ImportProblem, nameOf, type RecordName, THE_FILE } from './problem.ts';
import {
  keysOf,
  type Patch,
  type RecordKeys,
  withId,
  withMediaIds,
  writtenListing,
  writtenLocation,
} from './records.ts';
import type { FileRecord, PatchFile, RawRecord, ReadFile, Section, WholeFile } from './types.ts';

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
  const ofKeys = [...missingKeys(section, value), ...doubleReferences(value)];
  for (const fault of [...faults, ...ofKeys, ...ofEntries]) {
    problems.push({ record: name, ...fault });
  }
  const { photos, videos } = keysOf(value);
  return { name, keys, idField, mediaIds: new Set([...photos, ...videos]), value: own };
}

/** Gives a record without an id its id. The key of an amenity is its slug. */
function identified(section: Section, value: unknown): unknown {
  if (!isMap(value) || section === 'amenities') return value;
  return section === 'locations'
    ? withId(value, 'slug')
    : withMediaIds(withId(value, 'hid', 'slug'));
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

export function unreadable(faults: readonly Fault[]): ReadFile {
  return { kind: 'unreadable', problems: faults.map((fault) => ({ record: THE_FILE, ...fault })) };
}

/** Decodes UTF-8 without its byte order mark, or says which `form` a file must have. */
export function decodeText(bytes: Uint8Array, form: string): { text: string } | { fault: Fault } {
  // Of the first two bytes of UTF-16, one is zero, or both are its byte order mark.
  const isUtf16 = /^(00|..00|fffe|feff)/.test(Buffer.from(bytes.subarray(0, 2)).toString('hex'));
  const fault: Fault = { path: '', code: isUtf16 ? 'utf16' : 'not_utf8', details: [form] };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
    return isUtf16 ? { fault } : { text };
  } catch {
    return { fault };
  }
}

/** Finds the records of a section that have the id or slug of an earlier record. */
export function repeatedKeys({ locations, amenities, properties }: WholeFile): ImportProblem[] {
  const sections: FileRecord<unknown>[][] = [locations, amenities, properties];
  return sections.flatMap((records) => {
    const problems = (['id', 'slug'] as const).flatMap((field) =>
      repeated(records, ({ keys }) => keys[field]).map(({ entry, first }): ImportProblem => {
        const path = field === 'id' ? entry.idField : field;
        const details = [`the ${field} of ${nameOf(first.name)}`];
        return { record: entry.name, path, code: 'repeats', details, value: entry.keys[path] };
      }),
    );
    // An id that follows from a slug repeats with the slug.
    const places = new Map(problems.map((each) => [`${each.record.place} ${each.path}`, each]));
    return [...places.values()];
  });
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

/** A location may lack a slug, from which its id follows, only if it has an id. */
function missingKeys(section: Section, record: unknown): Fault[] {
  const isKeyed = section !== 'locations' || !isMap(record) || (record.id ?? record.slug) != null;
  return isKeyed ? [] : [{ path: 'slug', code: 'missing', details: ['is required'] }];
}

function doubleReferences(record: unknown): Fault[] {
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]): Fault[] =>
    isMap(record) && record[path] !== undefined && record[other] !== undefined
      ? [{ path, code: 'two_names', details: [other], value: record[path] }]
      : [],
  );
}
