/**
 * Completes a patch: each of its records is merged into the stored record that it names by id,
 * `hid` or slug. A record that names no stored record is new. Pure.
 */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/resource.ts';
import type { Source } from '../../../src/properties/source.ts';
import { didYouMean } from '../../command-line/nearest.ts';
import { isMap } from './listing-schemas.ts';
import { merged, mergedListing } from './merge.ts';
import { parsed } from './parse.ts';
import type { Fault, ImportProblem } from './problem.ts';
import {
  fileListingOf,
  keysOf,
  listOf,
  type Patch,
  type RecordKeys,
  withId,
  writtenListing,
  writtenLocation,
} from './records.ts';
import { entryFaults, repeatedKeys } from './sections.ts';
import type { Catalogue } from './store.ts';
import type { FileRecord, PatchFile, WholeFile } from './types.ts';

/** Returns the ids of the listings that a record names: several only by `hid`. */
export type Finder = (keys: RecordKeys) => string[];

export function finderOf({ summaries }: Pick<Catalogue, 'summaries'>): Finder {
  const byHid = Map.groupBy(summaries.values(), ({ hid }) => hid);
  const bySlug = new Map([...summaries.values()].map((each) => [each.slug, each]));
  return ({ id, hid, slug }) => {
    if (id !== undefined) return summaries.has(id) ? [id] : [];
    const same = (hid !== undefined && byHid.get(hid)) || [];
    const both = same.filter((each) => each.slug === slug);
    const named = (slug !== undefined && bySlug.get(slug)) || undefined;
    if (both.length > 0) return both.map((each) => each.id);
    return same.length > 0 || named === undefined ? same.map((each) => each.id) : [named.id];
  };
}

/** Merges a patch into the stored records. `sources` has the named listings by id. */
export function completePatch(
  patch: PatchFile,
  stored: Catalogue,
  find: Finder,
  sources: ReadonlyMap<string, Source>,
  mustBeStored: boolean,
): { file: WholeFile; problems: ImportProblem[] } {
  const problems: ImportProblem[] = [];
  const locations = patch.locations.map((record) => {
    const { id, slug } = record.keys;
    const old = stored.locations.find((each) => each[id ? 'id' : 'slug'] === (id ?? slug));
    const whole = withId(merged(old ?? {}, record.value ?? {}, writtenLocation), 'slug');
    return completed(record, old, whole, writtenLocation, problems);
  });
  const amenities = patch.amenities.map((record) => {
    const old = stored.amenities.find(({ slug }) => slug === record.keys.slug);
    const whole = merged(old ?? {}, record.value ?? {}, amenity);
    return completed(record, old, whole, amenity, problems);
  });
  const properties = patch.properties.map((record) => {
    const ids = find(record.keys);
    const old = sources.get(ids[0] ?? '');
    const listing = old === undefined ? {} : fileListingOf(old);
    const whole = withId(mergedListing(listing, record.value ?? {}), 'hid', 'slug');
    const takesHero = record.name.isSheet === true && lacksHero(listing, whole, record.value ?? {});
    if (takesHero) whole.hero_photo_id = keysOf(whole).photos[0];
    const nameFault = nameFaultOf(record.keys, ids, stored, mustBeStored);
    return { ...completed(record, old, whole, writtenListing, problems, nameFault), takesHero };
  });
  const file: WholeFile = { isPatch: false, locations, amenities, properties };
  return { file, problems: [...problems, ...repeatedKeys(file)] };
}

/** Reports whether a patch brings photos to a listing, and none of them is its hero image. */
function lacksHero(before: Patch, after: Patch, patch: Patch): boolean {
  const [old, { photos, hero_photo_id }] = [keysOf(before), keysOf(after)];
  if (hero_photo_id !== undefined || patch.hero_photo !== undefined || photos[0] === undefined) {
    return false;
  }
  const isHero = (photo: unknown) => isMap(photo) && photo.section === 'hero';
  return `${old.photos}` !== `${photos}` && !listOf(after.photos).some(isHero);
}

/** Returns the fault of the keys that name a listing. `ids` are of the listings found. */
function nameFaultOf(
  { id, hid, slug }: RecordKeys,
  ids: readonly string[],
  { summaries }: Catalogue,
  mustBeStored: boolean,
): Fault | undefined {
  if ((id ?? hid ?? slug) === undefined) return { path: '', code: 'names_no_listing' };
  if (ids.length > 1) return { path: 'hid', code: 'unclear_hid', value: hid };
  if (ids.length === 1 || !mustBeStored) return undefined;
  const slugs = [...summaries.values()].map((each) => each.slug);
  return { path: '', code: 'not_stored', details: [`${slug}${didYouMean(slug ?? '', slugs)}`] };
}

/** Returns the whole record. All fields that a new record lacks are one problem. */
function completed<T>(
  record: FileRecord<Patch>,
  old: object | undefined,
  whole: Patch,
  schema: z.ZodType<T>,
  problems: ImportProblem[],
  nameFault?: Fault,
): FileRecord<T> {
  const { name, idField } = record;
  const keys = keysOf(whole);
  if (record.value === undefined) return { ...record, keys, value: undefined };
  const { value, faults } = parsed(schema, whole);
  const { lacking = [], wrong = [] } = Object.groupBy(faults, ({ code }) =>
    old === undefined && code === 'missing' ? 'lacking' : 'wrong',
  );
  const details = [name.kind, idField, lacking.map(({ path }) => path).join(', ')];
  const incomplete: Fault[] = lacking.length > 0 ? [{ path: '', code: 'incomplete', details }] : [];
  // A malformed key that names no record is reported itself.
  const isMalformed = wrong.some(({ path }) => ['id', 'hid', 'slug'].includes(path));
  const isNamed = record.keys[idField] !== undefined || !isMalformed;
  const naming = nameFault === undefined ? incomplete : [nameFault];
  for (const fault of [...(isNamed ? naming : []), ...wrong, ...entryFaults(keys)]) {
    problems.push({ record: name, ...fault });
  }
  return { ...record, keys, value: nameFault === undefined ? value : undefined };
}
