/**
 * Completes the records of a file: merges patches into stored records, adds ids and parses the
 * results.
 */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/property.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import { mergeListing, mergeRecord } from '../catalogue/patch.ts';
import {
  deriveIds,
  listingRecord,
  locationRecord,
  makeFinder,
  type RecordKeys,
  readKeys,
  toFileListing,
} from '../catalogue/records.ts';
import { type Catalogue, findUsers, listSources } from '../catalogue/store.ts';
import type { MergeOptions } from '../match/history.ts';
import { type MergedWorkbook, mergeWorkbook } from '../merge/merge.ts';
import type { ListingsFile } from '../read/file.ts';
import type { InputRecord, RecordsFile } from '../read/json.ts';
import { parseValue } from '../read/parse.ts';
import { type FieldProblem, type ImportProblem, mergeProblems, THE_FILE } from '../read/problem.ts';
import { findEntryProblems, findReferenceProblems } from './entry-problems.ts';

/** A record of the file after a patch was merged into the stored record. */
export type ParsedRecord<T> = Pick<InputRecord, 'location' | 'version' | 'isAbsent'> & {
  keys: RecordKeys;
  /** The keys that the file contains. `keys` also has stored and derived keys. */
  writtenKeys: RecordKeys;
  /** The parsed record; undefined if it is invalid. */
  value: T | undefined;
  problems: FieldProblem[];
};

/** A file with complete records and all of their problems. */
export type CompleteFile = ReturnType<typeof completeRecords>;

type MergedRecords = Pick<RecordsFile, 'exportId' | 'removed'> &
  Pick<RecordsFile, 'locations' | 'amenities' | 'properties' | 'problems'> &
  Partial<MergedWorkbook>;

export function completeRecords(input: ListingsFile, stored: Catalogue, options: MergeOptions) {
  const { form } = input;
  const file: MergedRecords =
    input.form === 'workbook'
      ? { ...input, removed: [], ...mergeWorkbook(input, stored, options) }
      : input;
  const listings = listSources(stored).map(toFileListing);
  const locations = mergeRecords(form, file.locations, locationRecord, stored.locations);
  const amenities = mergeRecords(form, file.amenities, amenity, stored.amenities);
  const properties = mergeRecords(form, file.properties, listingRecord, listings);
  // A location or amenity is not removed while listings outside the file use it.
  const idsInFile = new Set(properties.map(({ keys }) => keys.id));
  const removed = file.removed.filter((key) =>
    findUsers(stored, key).every(({ id }) => idsInFile.has(id)),
  );
  const records = [...locations, ...amenities, ...properties];
  const recordProblems = records.flatMap(({ location, problems }) =>
    problems.map(({ value, ...problem }): ImportProblem => {
      const isEmptyCell = location.row !== undefined && value === null;
      return {
        location,
        ...problem,
        ...(isEmptyCell ? { message: 'must not be empty' } : { value }),
      };
    }),
  );
  const problems = mergeProblems(file.problems, recordProblems);
  // Only the export of an empty store may have no record.
  const isEmpty = records.length + file.removed.length + problems.length === 0;
  if (isEmpty && file.exportId === undefined) {
    problems.push({ location: THE_FILE, path: '', message: 'has no record' });
  }
  return { ...file, form, locations, amenities, properties, removed, problems };
}

function mergeRecords<T extends { slug: string | null }>(
  form: ListingsFile['form'],
  records: readonly InputRecord[],
  schema: z.ZodType<T> & z.ZodObject,
  stored: readonly T[],
): ParsedRecord<T>[] {
  const find = makeFinder(stored);
  const knownNames = stored.flatMap(({ slug }) => slug ?? []);
  return records.map((raw) => {
    const { location, value: written } = raw;
    if (form === 'whole') return parseRecord(raw, written, schema);
    const keys = readKeys(written);
    // In the patch of a row, `id` is the id of the stored record: see merge/patches.ts.
    const hasId = form === 'workbook' && location.kind !== 'amenity';
    const old = find(hasId ? { id: keys.id } : keys);
    // The patch of an unchanged row contains only the id. Parsing most rows again would be slow.
    if (old !== undefined && isMap(written) && Object.keys(written).join() === 'id') {
      return { ...raw, keys: readKeys(old), writtenKeys: keys, value: old, problems: [] };
    }
    const merge = location.kind === 'listing' ? mergeListing : mergeRecord;
    const merged = isMap(written) ? merge({ ...old }, written, schema) : written;
    const record = parseRecord(raw, merged, schema);
    if (old !== undefined) return record;
    const unknown = { name: keys.slug ?? '', knownNames };
    return { ...record, problems: summarizeMissing(raw, unknown, record.problems) };
  });
}

function parseRecord<T>(
  { value: written, ...raw }: InputRecord,
  merged: unknown,
  schema: z.ZodType<T> & z.ZodObject,
): ParsedRecord<T> {
  const whole = isMap(merged) ? deriveIds(merged, schema) : merged;
  const keys = readKeys(whole);
  const { value, problems } = parseValue<T>(schema, whole);
  const others = [
    ...findReferenceProblems(raw.location.kind, written),
    ...findEntryProblems(whole, keys, raw.location),
  ];
  return {
    ...raw,
    keys,
    writtenKeys: readKeys(written),
    value,
    problems: [...problems, ...others],
  };
}

/**
 * Reports all missing fields as one problem. A patch that matches no stored record probably has a misspelt key, and would otherwise get a problem for every field that it leaves out.
 */
function summarizeMissing(
  { location: { kind }, mustExist = false }: InputRecord,
  unknown: NonNullable<FieldProblem['unknown']>,
  problems: readonly FieldProblem[],
): FieldProblem[] {
  const missing = problems.filter(({ isMissing }) => isMissing).map(({ path }) => path);
  if (missing.length === 0) return [...problems];
  const needs = mustExist ? '' : `, and a new one needs ${missing.join(', ')}`;
  const message = `is not a stored ${kind}${needs}`;
  return [{ path: '', message, unknown }, ...problems.filter(({ isMissing }) => !isMissing)];
}
