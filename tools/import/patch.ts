/**
 * Completes a patch once the stored records are known: each of its records is merged into the stored record that it
 * names by id, `hid` or slug. A record that names no stored record is new. Pure.
 */

import type * as z from 'zod';
import { parseWith } from '../../src/http/validate.ts';
import { amenity } from '../../src/properties/resource.ts';
import type { Source } from '../../src/properties/source.ts';
import {
  type FileRecord,
  heroProblems,
  keysOf,
  type PatchFile,
  repeatedKeys,
  type WholeFile,
} from './file.ts';
import type { Stored } from './plan.ts';
import type { ImportProblem } from './problem.ts';
import {
  fileListing,
  fileListingOf,
  merged,
  mergedListing,
  type Patch,
  withId,
  writtenListing,
  writtenLocation,
} from './records.ts';

/** Merges a patch into the stored records. Returns the whole file, and every problem of the merge. */
export function completePatch(
  { locations, amenities, properties }: PatchFile,
  stored: Stored,
): { file: WholeFile; problems: ImportProblem[] } {
  const problems: ImportProblem[] = [];
  const find = finderOf(stored.sources);
  const file: WholeFile = {
    isPatch: false,
    locations: locations.map((record) => {
      const { id, slug } = record.keys;
      const old = stored.locations.find((each) => each[id ? 'id' : 'slug'] === (id ?? slug));
      const whole = withId(merged(old ?? {}, record.value ?? {}), 'slug');
      return completed('location', record, old?.id, whole, writtenLocation, problems);
    }),
    amenities: amenities.map((record) => {
      const old = stored.amenities.find(({ slug }) => slug === record.keys.slug);
      const whole = merged(old ?? {}, record.value ?? {});
      return completed('amenity', record, undefined, whole, amenity, problems);
    }),
    properties: properties.map((record) => {
      const { id, hid, slug } = record.keys;
      const [old, ...others] = find(record.keys);
      if (others.length > 0) {
        const message = 'is the hid of several stored listings: name one by its slug or id';
        problems.push({ record: record.name, path: 'hid', message, value: hid });
      }
      const base = old && fileListingOf(old);
      const whole = withId(mergedListing(base ?? {}, record.value ?? {}), 'hid', 'slug');
      if (
        id === undefined &&
        hid === undefined &&
        slug === undefined &&
        record.value !== undefined
      ) {
        const message = 'names no listing: give its slug, hid or id';
        problems.push({ record: record.name, path: '', message });
        return { ...record, value: undefined };
      }
      const schema: z.ZodType<z.output<typeof fileListing>> = old ? fileListing : writtenListing;
      const one = completed('listing', record, old?.id, whole, schema, problems);
      for (const problem of one.value === undefined ? [] : heroProblems(one.keys)) {
        problems.push({ record: record.name, ...problem });
      }
      return one;
    }),
  };
  return { file, problems: [...problems, ...repeatedKeys(file)] };
}

/** Returns a function that finds the stored listings that a record names: one, unless several have its `hid`. */
function finderOf(sources: readonly Source[]) {
  const byId = Map.groupBy(sources, ({ id }) => id);
  const byHid = Map.groupBy(sources, ({ hid }) => hid);
  const bySlug = Map.groupBy(sources, ({ slug }) => slug);
  return ({ id, hid, slug }: FileRecord<Patch>['keys']): Source[] => {
    if (id !== undefined) return byId.get(id) ?? [];
    const bySame = (hid !== undefined && byHid.get(hid)) || [];
    const both = bySame.filter((each) => each.slug === slug);
    if (both.length > 0) return both;
    return bySame.length > 0 ? bySame : (slug !== undefined && bySlug.get(slug)) || [];
  };
}

/** Returns the whole record. All fields that a new record lacks are one problem. */
function completed<T>(
  kind: string,
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
  const parsed = parseWith(schema, whole);
  if (parsed.ok) return { name, keys: keysOf(whole), idField, value: parsed.value };
  const missing = parsed.problems.filter(({ message }) => message.startsWith('is required'));
  if (missing.length > 0) {
    const needs = missing.map(({ path }) => path).join(', ');
    const message = `no ${kind} is stored under this ${idField}, and a new one needs ${needs}`;
    problems.push({ record: name, path: '', message });
  }
  const others = parsed.problems.filter((each) => !missing.includes(each));
  for (const problem of others) problems.push({ record: name, ...problem });
  return { name, keys: keysOf(whole), idField, value: undefined };
}
