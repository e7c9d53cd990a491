/** Completes the records of a file: a patch is merged into the stored records that it names. */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/property.ts';
import type { MergeOptions } from './base.ts';
import { entryFaults, referenceFaults } from './faults.ts';
import { isMap } from './listing-schemas.ts';
import { mergeSheets } from './merge.ts';
import { parseValue } from './parse.ts';
import { mergeListing, mergeRecord } from './patch.ts';
import { distinct, type Fault, type ImportProblem, THE_FILE } from './problem.ts';
import {
  deriveIds,
  makeFinder,
  readKeys,
  toFileListing,
  writtenListing,
  writtenLocation,
} from './records.ts';
import { type Catalogue, findUsers, sourcesOf } from './store.ts';
import type { CompleteRecord, ListingsFile, RawRecord } from './types.ts';

/** A file whose records are all whole, and every problem of them. */
export type CompleteFile = ReturnType<typeof completeFromStore>;

export function completeFromStore(written: ListingsFile, stored: Catalogue, options: MergeOptions) {
  const { form, sheets } = written;
  const file = sheets ? mergeSheets(written, sheets, stored, options) : written;
  const listings = sourcesOf(stored).map(toFileListing);
  const locations = completeRecords(form, file.locations, writtenLocation, stored.locations);
  const amenities = completeRecords(form, file.amenities, amenity, stored.amenities);
  const properties = completeRecords(form, file.properties, writtenListing, listings);
  // A record to remove stays if listings outside the file show it.
  const inFile = new Set(properties.map(({ keys }) => keys.id));
  const removed = file.removed.filter((key) =>
    findUsers(stored, key).every(({ id }) => inFile.has(id)),
  );
  const records = [...locations, ...amenities, ...properties];
  const faulty = records.flatMap(({ name: record, faults }) =>
    faults.map(({ value, ...fault }): ImportProblem => {
      const isEmptyCell = record.cellAt !== undefined && value === null;
      return { record, ...fault, ...(isEmptyCell ? { sentence: 'must not be empty' } : { value }) };
    }),
  );
  const problems = distinct(file.problems, faulty);
  // The export of an empty store has none either.
  const isEmpty = records.length + file.removed.length + problems.length === 0;
  if (isEmpty && file.exportId === undefined) {
    problems.push({ record: THE_FILE, path: '', sentence: 'has no record' });
  }
  return { ...file, locations, amenities, properties, removed, problems };
}

function completeRecords<T extends { slug: string | null }>(
  form: ListingsFile['form'],
  records: readonly RawRecord[],
  schema: z.ZodType<T> & z.ZodObject,
  stored: readonly T[],
): CompleteRecord<T>[] {
  const find = makeFinder(stored);
  const known = stored.flatMap(({ slug }) => slug ?? []);
  return records.map((raw) => {
    const { name, value: written } = raw;
    if (form === 'whole') return completeRecord(raw, written, schema);
    const keys = readKeys(written);
    // A row of a workbook has the id of its stored record by now.
    const hasId = form === 'workbook' && name.kind !== 'amenity';
    const old = find(hasId ? { id: keys.id } : keys);
    // Most rows of a workbook are as they are stored: they are not parsed again.
    if (old !== undefined && isMap(written) && Object.keys(written).join() === 'id') {
      return { ...raw, keys: readKeys(old), writtenKeys: keys, value: old, faults: [] };
    }
    const merge = name.kind === 'listing' ? mergeListing : mergeRecord;
    const merged = isMap(written) ? merge({ ...old }, written, schema) : written;
    const record = completeRecord(raw, merged, schema);
    if (old !== undefined) return record;
    const unknown = { name: keys.slug ?? '', known };
    return { ...record, faults: summarizeMissing(raw, unknown, record.faults) };
  });
}

function completeRecord<T>(
  { value: written, ...raw }: RawRecord,
  merged: unknown,
  schema: z.ZodType<T> & z.ZodObject,
): CompleteRecord<T> {
  const whole = isMap(merged) ? deriveIds(merged, schema) : merged;
  const keys = readKeys(whole);
  const { value, faults } = parseValue<T>(schema, whole);
  const others = [
    ...referenceFaults(raw.name.kind, written),
    ...entryFaults(whole, keys, raw.name),
  ];
  return { ...raw, keys, writtenKeys: readKeys(written), value, faults: [...faults, ...others] };
}

/** A patch that names no stored record may have a misspelt key: its missing fields are one problem. */
function summarizeMissing(
  { name: { kind }, mustExist = false }: RawRecord,
  unknown: NonNullable<Fault['unknown']>,
  faults: readonly Fault[],
): Fault[] {
  const missing = faults.filter(({ isMissing }) => isMissing).map(({ path }) => path);
  if (missing.length === 0) return [...faults];
  const needs = mustExist ? '' : `, and a new one needs ${missing.join(', ')}`;
  const sentence = `is no stored ${kind}${needs}`;
  return [{ path: '', sentence, unknown }, ...faults.filter(({ isMissing }) => !isMissing)];
}
