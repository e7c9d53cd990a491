/** Reads the stored records, and completes the file with them: a patch is merged into them. */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/resource.ts';
import type { Source } from '../../../src/properties/source.ts';
import { entryFaults, nameFaults, repeatedKeys } from './faults.ts';
import { isMap } from './listing-schemas.ts';
import { merged, mergedListing } from './merge.ts';
import { parsed } from './parse.ts';
import type { Fault, ImportProblem } from './problem.ts';
import {
  type FileListing,
  type RecordKeys,
  readKeys,
  toFileListing,
  withIds,
  writtenListing,
  writtenLocation,
} from './records.ts';
import { type Catalogue, readCatalogue, readListings } from './store.ts';
import type { FileRecord, RawRecord, ReadableFile, Removed, WholeFile } from './types.ts';

/** The records of a file, all whole, and every problem of them. */
export type CompleteRecords = {
  file: WholeFile;
  isPatch: boolean;
  removed: Removed;
  problems: ImportProblem[];
};

export async function read(
  {
    file,
    problems,
    mustBeStored = false,
    removed = { locations: [], amenities: [] },
  }: ReadableFile,
  database: D1Database,
): Promise<CompleteRecords & { stored: Catalogue }> {
  const { isPatch } = file;
  const stored = await readCatalogue(database);
  const find = isPatch ? indexListings(stored) : () => [];
  const named = new Set(file.properties.flatMap(({ value }) => find(readKeys(value))));
  const sources = new Map<string, Source>();
  for await (const { id, listing } of readListings(database, [...named])) sources.set(id, listing);

  const locations = file.locations.map((raw) => {
    const { id, slug } = readKeys(raw.value);
    const old = stored.locations.find((each) => each[id ? 'id' : 'slug'] === (id ?? slug));
    return completed(raw, isPatch, { schema: writtenLocation, old });
  });
  const amenities = file.amenities.map((raw) => {
    const old = stored.amenities.find(({ slug }) => slug === readKeys(raw.value).slug);
    return completed(raw, isPatch, { schema: amenity, old });
  });
  const properties = file.properties.map((raw) => {
    const keys = readKeys(raw.value);
    const ids = find(keys);
    const source = ids.length === 1 ? sources.get(ids[0] ?? '') : undefined;
    const old = source && toFileListing(source);
    const naming = isPatch ? findNameFault(keys, ids, stored, mustBeStored) : undefined;
    const form = { schema: writtenListing, old, merge: mergedListing, naming };
    const record = completed(raw, isPatch, form);
    return { ...record, takesHero: raw.name.isSheet === true && takeHero(record.value, old) };
  });
  const whole: WholeFile = { locations, amenities, properties };
  const ofRecords = [...locations, ...amenities, ...properties].flatMap(({ name, faults }) =>
    faults.map((fault): ImportProblem => ({ record: name, ...fault })),
  );
  const later = [...ofRecords, ...repeatedKeys(whole)];
  return { stored, file: whole, isPatch, removed, problems: distinct(problems, later) };
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
  merge?: typeof merged;
  /** The fault of the keys by which a patch names a record. */
  naming?: Fault | undefined;
};

/** Returns the whole record. All fields that a new record of a patch lacks are one problem. */
function completed<T>(
  { name, value: own }: RawRecord,
  isPatch: boolean,
  { schema, old, merge = merged, naming }: Form<T>,
): FileRecord<T> {
  const whole = isMap(own) ? withIds(isPatch ? merge({ ...old }, own, schema) : own, schema) : own;
  const { value, faults } = parsed<T>(schema, whole);
  const keys = readKeys(whole);
  const ownKeys = readKeys(own);
  const idField = (['id', 'hid'] as const).find((each) => ownKeys[each] !== undefined) ?? 'slug';
  const { lacking = [], wrong = [] } = Object.groupBy(faults, ({ code }) =>
    isPatch && old === undefined && code === 'missing' ? 'lacking' : 'wrong',
  );
  const fields = lacking.map(({ path }) => path).join(', ');
  const details = [name.kind, idField, fields];
  const incomplete: Fault = { path: '', code: 'incomplete', details };
  const first = naming ?? (fields === '' ? undefined : incomplete);
  // A malformed key that names no record is reported itself.
  const isMalformed = wrong.some(({ path }) => ['id', 'hid', 'slug'].includes(path));
  const isNamed = ownKeys[idField] !== undefined || !isMalformed;
  const others = isMap(own) ? nameFaults(name.kind, own) : [];
  const mediaIds = new Set([...ownKeys.photos, ...ownKeys.videos]);
  const all = [...(first && isNamed ? [first] : []), ...wrong, ...others, ...entryFaults(keys)];
  return { name, keys, idField, mediaIds, value, faults: all };
}

/** Makes the first of the photos that a sheet brings the hero photo of a listing without one. */
function takeHero(listing: FileListing | undefined, old: FileListing | undefined): boolean {
  const [first] = listing?.photos ?? [];
  if (listing === undefined || first === undefined || listing.hero_photo !== undefined)
    return false;
  const idsOf = (each: FileListing | undefined) => `${each?.photos.map(({ id }) => id)}`;
  const hasHero =
    listing.hero_photo_id !== null || listing.photos.some(({ section }) => section === 'hero');
  if (hasHero || idsOf(listing) === idsOf(old)) return false;
  listing.hero_photo_id = first.id;
  return true;
}

/** Returns the fault of the keys that name a listing. `ids` are of the listings found. */
function findNameFault(
  { id, hid, slug }: RecordKeys,
  ids: readonly string[],
  { summaries }: Catalogue,
  mustBeStored: boolean,
): Fault | undefined {
  if ((id ?? hid ?? slug) === undefined) return { path: '', code: 'names_no_listing' };
  if (ids.length > 1) return { path: 'hid', code: 'unclear_hid', value: hid };
  if (ids.length === 1 || !mustBeStored) return undefined;
  const known = [...summaries.values()].map((each) => each.slug);
  return {
    path: '',
    code: 'not_stored',
    details: [`${slug}`],
    unknown: { name: `${slug}`, known },
  };
}
