/** Completes the records of a file: a patch is merged into the stored records that it names. */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/property.ts';
import { entryFaults, referenceFaults } from './faults.ts';
import { joinSheets } from './join.ts';
import { isMap } from './listing-schemas.ts';
import { mergeListing, mergeRecord } from './merge.ts';
import { parseValue } from './parse.ts';
import { distinct, type Fault } from './problem.ts';
import {
  deriveIds,
  type FileListing,
  readKeys,
  toFileListing,
  writtenListing,
  writtenLocation,
} from './records.ts';
import { anothersIdFault, findKeyFault, makeResolver } from './resolve.ts';
import { type Catalogue, findUsers, sourcesOf } from './store.ts';
import type { CompleteRecord, ListingsFile, RawRecord, Resolution } from './types.ts';

/** A file whose records are all whole, and every problem of them. */
export type CompleteFile = ReturnType<typeof completeFromStore>;

export function completeFromStore(written: ListingsFile, stored: Catalogue, overwrite: boolean) {
  const { form, workbook } = written;
  const file = workbook ? joinSheets(written, workbook, stored, overwrite) : written;
  const isMerged = form !== 'whole';
  const amenities = file.amenities.map((raw) => {
    const old = stored.amenities.find(({ slug }) => slug === readKeys(raw.value).slug);
    return completeRecord(raw, isMerged, amenity, { kind: 'new' }, old);
  });
  const properties = completeListings(file, stored);
  // A record to remove stays if listings outside the file show it.
  const inFile = new Set(properties.map(({ keys }) => keys.id));
  const keptRemovals = new Set<string>();
  for (const key of file.removed) {
    if (findUsers(stored, key).some(({ id }) => !inFile.has(id))) keptRemovals.add(key);
  }
  const removed = file.removed.filter((key) => !keptRemovals.has(key));
  const keptLocations = stored.locations.filter(({ id }) => !removed.includes(id));
  // The rows of a workbook are resolved by then.
  const resolveLocation = makeResolver(keptLocations, form === 'patch');
  const locations = file.locations.map((raw) => {
    const resolution = resolveLocation(readKeys(raw.value));
    const [id] = storedIds(resolution);
    const old = keptLocations.find((each) => each.id === id);
    return completeRecord(raw, isMerged, writtenLocation, resolution, old);
  });
  const sections = [locations, amenities, properties];
  const faulty = sections
    .flat()
    .flatMap(({ name: record, faults }) =>
      faults.map((fault) => ({ record, ...fault, ...knownNames(fault, stored) })),
    );
  const problems = distinct(file.problems, faulty);
  return {
    ...file,
    ignoredSheets: workbook?.ignored ?? [],
    locations,
    amenities,
    properties,
    removed,
    keptRemovals,
    problems,
  };
}

function completeListings(
  { properties, form, mustBeStored = false }: ListingsFile,
  stored: Catalogue,
): CompleteRecord<FileListing>[] {
  const isMerged = form !== 'whole';
  const resolve = makeResolver(sourcesOf(stored), form === 'patch');
  const known = () => sourcesOf(stored).map(({ slug }) => slug);
  return properties.map((raw) => {
    const keys = readKeys(raw.value);
    const resolution = resolve(keys);
    const [id = ''] = isMerged ? storedIds(resolution) : [];
    const source = stored.listings.get(id)?.listing;
    const old = source && toFileListing(source);
    const keyFault = isMerged ? findKeyFault(resolution, keys, mustBeStored, known) : undefined;
    return completeRecord(raw, isMerged, writtenListing, resolution, old, keyFault);
  });
}

/** Names the stored slugs beside one that is malformed: `hot tub` may mean `hot-tub`. */
function knownNames({ path, code, value }: Fault, { locations, amenities }: Catalogue) {
  const [field = ''] = path.split('.');
  if (code !== 'invalid' || typeof value !== 'string') return {};
  const known = { location: locations, amenities }[field]?.flatMap(({ slug }) => slug ?? []);
  return known && { unknown: { name: value, known } };
}

function storedIds(resolution: Resolution): string[] {
  return resolution.kind === 'stored' ? [resolution.old.id] : [];
}

/** `old` is the stored record that a record is merged into. */
function completeRecord<T>(
  raw: RawRecord,
  isMerged: boolean,
  schema: z.ZodType<T> & z.ZodObject,
  resolution: Resolution,
  old: (T & object) | undefined,
  keyFault?: Fault,
): CompleteRecord<T> {
  const { name, value: written } = raw;
  if (isMerged && old !== undefined && namesOnly(written)) return keepRecord(raw, resolution, old);
  const record = parseRecord(raw, isMerged ? mergePatch(raw, schema, old) : written, schema);
  const own =
    isMerged && old === undefined
      ? summarizeFaults(record, record.faults, keyFault)
      : record.faults;
  const others = [...referenceFaults(name.kind, written), ...entryFaults(record.keys)];
  const isAnothers = resolution.kind === 'anothers';
  const keyFaults = isAnothers ? [anothersIdFault(record, resolution.old)] : [];
  return { ...record, resolution, faults: [...own, ...others, ...keyFaults] };
}

/** Most rows of a workbook are as they are stored: it is not parsed again. */
function namesOnly(written: unknown): boolean {
  return isMap(written) && Object.keys(written).join() === 'id';
}

function keepRecord<T extends object>(
  { value: written, ...raw }: RawRecord,
  resolution: Resolution,
  value: T,
): CompleteRecord<T> {
  const [id, hid, slug] = ['id', 'hid', 'slug'].map((key) => Reflect.get(value, key));
  const keys = readKeys({ id, hid, slug });
  const writtenKeys = readKeys(written);
  return { ...raw, resolution, value, keys, writtenKeys, idField: 'id', faults: [] };
}

function mergePatch({ name, value }: RawRecord, schema: z.ZodObject, old: object | undefined) {
  if (!isMap(value)) return value;
  const merge = name.kind === 'listing' ? mergeListing : mergeRecord;
  return merge({ ...old }, value, schema);
}

function parseRecord<T>(
  { value: written, ...raw }: RawRecord,
  merged: unknown,
  schema: z.ZodType<T> & z.ZodObject,
): Omit<CompleteRecord<T>, 'resolution'> {
  const whole = isMap(merged) ? deriveIds(merged, schema) : merged;
  const { value, faults } = parseValue<T>(schema, whole);
  const writtenKeys = readKeys(written);
  const idField = (['id', 'hid'] as const).find((each) => writtenKeys[each]) ?? 'slug';
  return { ...raw, keys: readKeys(whole), writtenKeys, idField, value, faults };
}

/** For a patch's record that matches no stored one: one fault of its keys, or of all missing fields. */
function summarizeFaults(
  { name, writtenKeys, idField }: Omit<CompleteRecord<unknown>, 'faults' | 'resolution'>,
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
