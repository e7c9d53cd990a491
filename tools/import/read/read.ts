/** Completes the records of a file: a patch is merged into the stored records that it names. */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/property.ts';
import type { Source } from '../../../src/properties/source.ts';
import { SHEETS } from '../workbook/columns.ts';
import { changesOfListing, dropShown, joinSheets } from '../workbook/join.ts';
import { entryFaults, referenceFaults, repeatedKeys } from './faults.ts';
import { isMap } from './listing-schemas.ts';
import { mergeListing, mergeRecord } from './merge.ts';
import { parseValue } from './parse.ts';
import { distinct, type Fault } from './problem.ts';
import {
  deriveIds,
  type FileListing,
  type RecordKeys,
  readKeys,
  toFileListing,
  writtenListing,
  writtenLocation,
} from './records.ts';
import { type Catalogue, findListingsUsing, readListings } from './store.ts';
import type { CompleteRecord, ListingsFile, RawRecord } from './types.ts';

/** A file whose records are all whole, and every problem of them. */
export type CompleteFile = Awaited<ReturnType<typeof completeFromStore>>;

export async function completeFromStore(
  file: ListingsFile,
  stored: Catalogue,
  database: D1Database,
) {
  const { form, exportId, workbook } = file;
  const isMerged = form !== 'whole';
  const shows = form === 'workbook';
  const locations = file.locations.map((raw) => {
    const { id, slug } = readKeys(raw.value);
    const old = stored.locations.find((each) => (id ? each.id === id : each.slug === slug));
    const own = shows ? takeChanges(raw, 'locations', old) : raw;
    return completeRecord(own, isMerged, writtenLocation, old);
  });
  const amenities = file.amenities.map((raw) => {
    const old = stored.amenities.find(({ slug }) => slug === readKeys(raw.value).slug);
    const own = shows ? takeChanges(raw, 'amenities', old) : raw;
    return completeRecord(own, isMerged, amenity, old);
  });
  const joined = shows ? joinSheets(file, stored, indexListings(stored)) : file;
  const properties = await completeListings(joined, stored, database);
  const sections = [locations, amenities, properties];
  const faulty = sections
    .flat()
    .flatMap(({ name: record, faults }) =>
      faults.map((fault) => ({ record, ...fault, ...knownNames(fault, stored) })),
    );
  const problems = distinct(joined.problems, [...faulty, ...sections.flatMap(repeatedKeys)]);
  // A record to remove stays if listings outside the file show it.
  const inFile = new Set(properties.map(({ keys }) => keys.id));
  const keptRemovals = new Set<string>();
  for (const key of file.removed) {
    const users = await findListingsUsing(database, [key]);
    if (users.some((id) => !inFile.has(id))) keptRemovals.add(key);
  }
  const removed = file.removed.filter((key) => !keptRemovals.has(key));
  return {
    form,
    exportId,
    ignoredSheets: workbook?.ignored ?? [],
    locations,
    amenities,
    properties,
    removed,
    keptRemovals,
    problems,
  };
}

async function completeListings(
  { properties, form, mustBeStored = false }: ListingsFile,
  stored: Catalogue,
  database: D1Database,
): Promise<CompleteRecord<FileListing>[]> {
  const isMerged = form !== 'whole';
  const findIds = isMerged ? indexListings(stored) : () => [];
  const named = properties.map((raw) => {
    const keys = readKeys(raw.value);
    return { raw, keys, ids: findIds(keys) };
  });
  const ids = new Set(named.flatMap((each) => each.ids));
  const storedListings = new Map<string, Source>();
  for await (const { id, listing } of readListings(database, [...ids])) {
    storedListings.set(id, listing);
  }
  return named.map(({ raw, keys, ids }) => {
    const source = ids.length === 1 ? storedListings.get(ids[0] ?? '') : undefined;
    const old = source && toFileListing(source);
    const keyFault = isMerged ? findKeyFault(keys, ids, stored, mustBeStored) : undefined;
    const own =
      form === 'workbook' && isMap(raw.value)
        ? { ...raw, value: changesOfListing(raw.value, source) }
        : raw;
    return completeRecord(own, isMerged, writtenListing, old, keyFault);
  });
}

/** Drops what a row of a workbook shows as it is stored. */
function takeChanges(raw: RawRecord, sheet: 'locations' | 'amenities', old: object | undefined) {
  if (old === undefined || !isMap(raw.value)) return raw;
  return { ...raw, value: dropShown(SHEETS[sheet].columns, raw.value, { ...old }) };
}

/** Makes the function that finds the ids of the listings that a record names, several by `hid`. */
function indexListings({ summaries }: Catalogue): (keys: RecordKeys) => string[] {
  const listings = [...summaries.values()];
  const byHid = Map.groupBy(listings, ({ hid }) => hid);
  const bySlug = Map.groupBy(listings, ({ slug }) => slug);
  return ({ id, hid = null, slug = '' }) => {
    if (id !== undefined) return summaries.has(id) ? [id] : [];
    const withHid = hid === null ? [] : (byHid.get(hid) ?? []);
    const both = withHid.filter((each) => each.slug === slug);
    // By both keys, or else by `hid`, or else by `slug`.
    const found = [both, withHid].find(({ length }) => length > 0) ?? bySlug.get(slug) ?? [];
    return found.map((each) => each.id);
  };
}

/** `ids` are of the listings that the keys name. */
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

/** Names the stored slugs beside one that is malformed: `hot tub` may mean `hot-tub`. */
function knownNames({ path, code, value }: Fault, { locations, amenities }: Catalogue) {
  const [field = ''] = path.split('.');
  if (code !== 'invalid' || typeof value !== 'string') return {};
  const known = { location: locations, amenities }[field]?.flatMap(({ slug }) => slug ?? []);
  return known && { unknown: { name: value, known } };
}

/** `old` is the stored record that a patch names. */
function completeRecord<T>(
  raw: RawRecord,
  isMerged: boolean,
  schema: z.ZodType<T> & z.ZodObject,
  old: object | undefined,
  keyFault?: Fault,
): CompleteRecord<T> {
  const { name, value: written } = raw;
  const record = parseRecord(raw, isMerged ? mergePatch(raw, schema, old) : written, schema);
  const own =
    isMerged && old === undefined
      ? summarizeFaults(record, record.faults, keyFault)
      : record.faults;
  const references = referenceFaults(name.kind, written);
  return { ...record, faults: [...own, ...references, ...entryFaults(record.keys)] };
}

function mergePatch({ name, value }: RawRecord, schema: z.ZodObject, old: object | undefined) {
  if (!isMap(value)) return value;
  const merge = name.kind === 'listing' ? mergeListing : mergeRecord;
  return merge({ ...old }, value, schema);
}

function parseRecord<T>(
  { name, value: written, version }: RawRecord,
  merged: unknown,
  schema: z.ZodType<T> & z.ZodObject,
): CompleteRecord<T> {
  const whole = isMap(merged) ? deriveIds(merged, schema) : merged;
  const { value, faults } = parseValue<T>(schema, whole);
  const writtenKeys = readKeys(written);
  const idField = (['id', 'hid'] as const).find((each) => writtenKeys[each]) ?? 'slug';
  return { name, version, keys: readKeys(whole), writtenKeys, idField, value, faults };
}

/** For a patch's record that matches no stored one: one fault of its keys, or of all missing fields. */
function summarizeFaults(
  { name, writtenKeys, idField }: Omit<CompleteRecord<unknown>, 'faults'>,
  faults: readonly Fault[],
  keyFault: Fault | undefined,
): Fault[] {
  const wrong = faults.filter(({ code }) => code !== 'missing');
  const missing = faults.filter(({ code }) => code === 'missing').map(({ path }) => path);
  // A malformed key, e.g. `slug: "Casa Marea"`, names no record: its own fault says all.
  const isKeyless = writtenKeys[idField] === undefined;
  if (isKeyless && wrong.some(({ path }) => ['id', 'hid', 'slug'].includes(path))) return wrong;
  if (keyFault !== undefined) return [keyFault, ...wrong];
  if (missing.length === 0) return wrong;
  const details = { kind: name.kind, key: idField, fields: missing.join(', ') };
  return [{ path: '', code: 'incomplete', details }, ...wrong];
}
