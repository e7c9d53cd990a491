/** Makes the records of a file whole: a patch is merged into the stored records that it names. */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/resource.ts';
import type { Source } from '../../../src/properties/source.ts';
import { entryFaults, nameFaults, repeatedKeys } from './faults.ts';
import { isMap } from './listing-schemas.ts';
import { mergeListing, mergeRecord } from './merge.ts';
import { parseValue } from './parse.ts';
import type { Fault, ImportProblem } from './problem.ts';
import {
  deriveIds,
  type FileListing,
  type RecordKeys,
  readKeys,
  toFileListing,
  writtenListing,
  writtenLocation,
} from './records.ts';
import { type Catalogue, readListings } from './store.ts';
import type { CompleteFile, FileRecord, ListingsFile, RawRecord } from './types.ts';

export async function completeFromStore(
  file: ListingsFile,
  stored: Catalogue,
  database: D1Database,
): Promise<CompleteFile> {
  const { isPatch, mustBeStored = false, removed = { locations: [], amenities: [] } } = file;
  const findIds = isPatch ? indexListings(stored) : () => [];
  const named = new Set(file.properties.flatMap(({ value }) => findIds(readKeys(value))));
  const sources = new Map<string, Source>();
  for await (const { id, listing } of readListings(database, [...named])) sources.set(id, listing);

  const locations = file.locations.map((raw) => {
    const { id, slug } = readKeys(raw.value);
    const old = stored.locations.find((each) => (id ? each.id === id : each.slug === slug));
    return completeRecord(raw, isPatch, { schema: writtenLocation, old });
  });
  const amenities = file.amenities.map((raw) => {
    const old = stored.amenities.find(({ slug }) => slug === readKeys(raw.value).slug);
    return completeRecord(raw, isPatch, { schema: amenity, old });
  });
  const properties = file.properties.map((raw) => {
    const keys = readKeys(raw.value);
    const ids = findIds(keys);
    const source = ids.length === 1 ? sources.get(ids[0] ?? '') : undefined;
    const old = source && toFileListing(source);
    const keyFault = isPatch ? findKeyFault(keys, ids, stored, mustBeStored) : undefined;
    const form = { schema: writtenListing, old, merge: mergeListing, keyFault };
    const record = completeRecord(raw, isPatch, form);
    return raw.name.isSheet ? takeHero(record, old) : record;
  });
  const faulty = [...locations, ...amenities, ...properties].flatMap(({ name, faults }) =>
    faults.map((fault): ImportProblem => ({ record: name, ...fault })),
  );
  const problems = distinct(file.problems, [
    ...faulty,
    ...repeatedKeys([locations, amenities, properties]),
  ]);
  return { isPatch, locations, amenities, properties, removed, problems };
}

/** Leaves out later problems of a value: an unreadable cell is a wrong value too. */
export function distinct(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const describePlace = ({ record, path }: ImportProblem) => `${record.place} ${path}`;
  const known = new Set(first.map(describePlace));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(describePlace(each)))];
}

/** Makes the function that finds the ids of the listings with a record's keys: several by `hid`. */
function indexListings({ summaries }: Catalogue): (keys: RecordKeys) => string[] {
  const listings = [...summaries.values()];
  const byHid = Map.groupBy(listings, ({ hid }) => hid);
  const bySlug = Map.groupBy(listings, ({ slug }) => slug);
  return ({ id, hid = null, slug = '' }) => {
    if (id !== undefined) return summaries.has(id) ? [id] : [];
    const withHid = hid === null ? [] : (byHid.get(hid) ?? []);
    const both = withHid.filter((each) => each.slug === slug);
    const found = [both, withHid].find(({ length }) => length > 0) ?? bySlug.get(slug) ?? [];
    return found.map((each) => each.id);
  };
}

/** How a record is completed. */
type Form<T> = {
  schema: z.ZodType<T> & z.ZodObject;
  /** The stored record that a patch names. */
  old: object | undefined;
  /** Merges a record of a patch into the stored one. */
  merge?: typeof mergeRecord;
  /** The fault of the keys by which a patch names a record. */
  keyFault?: Fault | undefined;
};

function completeRecord<T>(
  { name, value: own }: RawRecord,
  isPatch: boolean,
  { schema, old, merge = mergeRecord, keyFault }: Form<T>,
): FileRecord<T> {
  const whole = isMap(own)
    ? deriveIds(isPatch ? merge({ ...old }, own, schema) : own, schema)
    : own;
  const { value, faults } = parseValue<T>(schema, whole);
  const keys = readKeys(whole);
  const ownKeys = readKeys(own);
  const idField = (['id', 'hid'] as const).find((each) => ownKeys[each] !== undefined) ?? 'slug';
  const isNew = isPatch && old === undefined;
  const { lacking = [], wrong = [] } = Object.groupBy(faults, ({ code }) =>
    isNew && code === 'missing' ? 'lacking' : 'wrong',
  );
  const all = [...wrong, ...(isMap(own) ? nameFaults(name.kind, own) : []), ...entryFaults(keys)];
  // A malformed key, e.g. `slug: "Casa Marea"`, names no record: its own fault says all.
  const isMalformed =
    ownKeys[idField] === undefined && wrong.some(({ path }) => KEY_FIELDS.includes(path));
  const recordFault = keyFault ?? incompleteFault(name.kind, idField, lacking);
  if (recordFault !== undefined && !isMalformed) all.unshift(recordFault);
  const mediaIds = new Set([...ownKeys.photos, ...ownKeys.videos]);
  return { name, keys, idField, mediaIds, value, faults: all };
}

const KEY_FIELDS: readonly string[] = ['id', 'hid', 'slug'];

/** All fields that a new record of a patch lacks are one fault. */
function incompleteFault(kind: string, key: string, lacking: readonly Fault[]): Fault | undefined {
  const fields = lacking.map(({ path }) => path).join(', ');
  if (fields === '') return undefined;
  return { path: '', code: 'incomplete', details: { kind, key, fields } };
}

/** Makes the first of the photos that a sheet brings the hero photo of a listing without one. */
function takeHero(
  record: FileRecord<FileListing>,
  old: FileListing | undefined,
): FileRecord<FileListing> {
  const listing = record.value;
  const [first] = listing?.photos ?? [];
  if (listing === undefined || first === undefined || listing.hero_photo !== undefined)
    return record;
  const listIds = (each: FileListing | undefined) => `${each?.photos.map(({ id }) => id)}`;
  const hasHero =
    listing.hero_photo_id !== null || listing.photos.some(({ section }) => section === 'hero');
  if (hasHero || listIds(listing) === listIds(old)) return record;
  return { ...record, value: { ...listing, hero_photo_id: first.id }, takesHero: true };
}

/** Returns the fault of the keys that name a listing. `ids` are of the listings found. */
function findKeyFault(
  { id, hid, slug }: RecordKeys,
  ids: readonly string[],
  { summaries }: Catalogue,
  mustBeStored: boolean,
): Fault | undefined {
  if ((id ?? hid ?? slug) === undefined) return { path: '', code: 'names_no_listing' };
  if (ids.length > 1) return { path: 'hid', code: 'unclear_hid', value: hid };
  if (ids.length === 1 || !mustBeStored) return undefined;
  const known = [...summaries.values()].map((each) => each.slug);
  const name = `${slug}`;
  return { path: '', code: 'not_stored', details: { slug: name }, unknown: { name, known } };
}
