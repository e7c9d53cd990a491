/**
 * Completes a patch once the stored records are known: each of its records is merged into the stored record that it
 * names by id, `hid` or slug. A record that names no stored record is new. Pure.
 */

import type * as z from 'zod';
import { amenity } from '../../src/properties/resource.ts';
import type { Source } from '../../src/properties/source.ts';
import {
  entryFaults,
  type FileRecord,
  keysOf,
  type PatchFile,
  parsed,
  type RecordKeys,
  repeatedKeys,
  type WholeFile,
} from './file.ts';
import type { Fault, ImportProblem } from './problem.ts';
import {
  fileListingOf,
  merged,
  mergedListing,
  type Patch,
  withId,
  writtenListing,
  writtenLocation,
} from './records.ts';
import type { Catalogue } from './store.ts';

/** Returns the ids of the stored listings that a record names: one, unless several have its `hid`. */
export type Finder = (keys: RecordKeys) => string[];

/** Returns a function that finds the stored listings that the records of a patch name. */
export function finderOf({ heads }: Pick<Catalogue, 'heads'>): Finder {
  const byHid = Map.groupBy(heads.values(), ({ hid }) => hid);
  const bySlug = new Map([...heads.values()].map((head) => [head.slug, head]));
  return ({ id, hid, slug }) => {
    if (id !== undefined) return heads.has(id) ? [id] : [];
    const same = (hid !== undefined && byHid.get(hid)) || [];
    const both = same.filter((head) => head.slug === slug);
    const named = (slug !== undefined && bySlug.get(slug)) || undefined;
    if (both.length > 0) return both.map((head) => head.id);
    return same.length > 0 || named === undefined ? same.map((head) => head.id) : [named.id];
  };
}

/** Merges a patch into the stored records. `sources` has the listings that the patch names, by id. */
export function completePatch(
  { locations, amenities, properties }: PatchFile,
  stored: Catalogue,
  find: Finder,
  sources: ReadonlyMap<string, Source>,
): { file: WholeFile; problems: ImportProblem[] } {
  const problems: ImportProblem[] = [];
  const file: WholeFile = {
    isPatch: false,
    locations: locations.map((record) => {
      const { id, slug } = record.keys;
      const old = stored.locations.find((each) => each[id ? 'id' : 'slug'] === (id ?? slug));
      const whole = withId(merged(old ?? {}, record.value ?? {}), 'slug');
      return completed(record, old?.id, whole, writtenLocation, problems);
    }),
    amenities: amenities.map((record) => {
      const old = stored.amenities.find(({ slug }) => slug === record.keys.slug);
      const whole = merged(old ?? {}, record.value ?? {});
      return completed(record, undefined, whole, amenity, problems);
    }),
    properties: properties.map((record) => {
      const { id, hid, slug } = record.keys;
      if (record.value !== undefined && (id ?? hid ?? slug) === undefined) {
        problems.push({ record: record.name, path: '', code: 'names_no_listing' });
        return { ...record, value: undefined };
      }
      const [named = '', ...others] = find(record.keys);
      if (others.length > 0) {
        problems.push({ record: record.name, path: 'hid', code: 'unclear_hid', value: hid });
      }
      const old = sources.get(named);
      const whole = mergedListing(old ? fileListingOf(old) : {}, record.value ?? {});
      return completed(record, old?.id, withId(whole, 'hid', 'slug'), writtenListing, problems);
    }),
  };
  return { file, problems: [...problems, ...repeatedKeys(file)] };
}

/** Returns the whole record. All fields that a new record lacks are one problem. */
function completed<T>(
  record: FileRecord<Patch>,
  storedId: string | undefined,
  whole: Patch,
  schema: z.ZodType<T>,
  problems: ImportProblem[],
): FileRecord<T> {
  const { name, keys, idField } = record;
  if (record.value === undefined) {
    return { ...record, keys: { ...keys, id: storedId ?? keys.id }, value: undefined };
  }
  const { value, faults } = parsed(schema, whole);
  const missing = faults.filter(({ code }) => code === 'missing').map(({ path }) => path);
  const details = [name.kind, idField, missing.join(', ')];
  const incomplete: Fault[] = missing.length > 0 ? [{ path: '', code: 'incomplete', details }] : [];
  const others = faults.filter(({ code }) => code !== 'missing');
  const wholeKeys = keysOf(whole);
  for (const fault of [...incomplete, ...others, ...entryFaults(wholeKeys)]) {
    problems.push({ record: name, ...fault });
  }
  return { name, keys: wholeKeys, idField, value };
}
