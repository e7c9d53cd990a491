/** Completes the records of a file. Those of a patch are merged into the stored ones. Pure. */

import type * as z from 'zod';
import { amenity } from '../../../src/properties/openapi/resource.ts';
import type { Source } from '../../../src/properties/source.ts';
import { didYouMean } from '../../command-line/nearest.ts';
import { doubleReferences, entryFaults, missingKeys, repeatedKeys } from './faults.ts';
import { isMap } from './listing-schemas.ts';
import { merged, mergedListing } from './merge.ts';
import { parsed } from './parse.ts';
import type { Fault, ImportProblem } from './problem.ts';
import {
  listOf,
  type Patch,
  type RecordKeys,
  readKeys,
  toFileListing,
  withId,
  withMediaIds,
  writtenListing,
  writtenLocation,
} from './records.ts';
import type { Catalogue } from './store.ts';
import type { FileRecord, RawRecord, ReadableFile, WholeFile } from './types.ts';

type Stored = Pick<Catalogue, 'locations' | 'amenities' | 'summaries'>;

/** Returns the ids of the listings that a record names: several only by `hid`. */
export type Finder = (keys: RecordKeys) => string[];

export function indexListings({ summaries }: Stored): Finder {
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

/** Completes a file. `sources` has the stored listings that a patch names, by id. */
export function completeFile(
  { file, mustBeStored = false }: ReadableFile,
  stored: Stored,
  find: Finder,
  sources: ReadonlyMap<string, Source>,
): { file: WholeFile; problems: ImportProblem[] } {
  const { isPatch } = file;
  const problems: ImportProblem[] = [];
  const complete = <T>(raw: RawRecord, old: object | undefined, form: Form<T>) => {
    const { record, faults } = completed(raw, isPatch, old, form);
    for (const fault of faults) problems.push({ record: raw.name, ...fault });
    return record;
  };
  const locations = file.locations.map((raw) => {
    const { id, slug } = readKeys(raw.value);
    const old = stored.locations.find((each) => each[id ? 'id' : 'slug'] === (id ?? slug));
    const merge = (own: Patch) => merged(old ?? {}, own, writtenLocation);
    const identify = (whole: Patch) => withId(whole, 'slug');
    const faults = missingKeys(raw.value);
    return complete(raw, old, { schema: writtenLocation, merge, identify, faults });
  });
  const amenities = file.amenities.map((raw) => {
    const old = stored.amenities.find(({ slug }) => slug === readKeys(raw.value).slug);
    return complete(raw, old, {
      schema: amenity,
      merge: (own) => merged(old ?? {}, own, amenity),
      identify: (whole) => whole,
    });
  });
  const properties = file.properties.map((raw) => {
    const keys = readKeys(raw.value);
    const ids = isPatch ? find(keys) : [];
    const old = sources.get(ids[0] ?? '');
    const before = old === undefined ? {} : toFileListing(old);
    const nameFault = isPatch ? findNameFault(keys, ids, stored, mustBeStored) : undefined;
    let takesHero = false;
    const merge = (own: Patch) => {
      const whole = mergedListing(before, own);
      takesHero = raw.name.isSheet === true && lacksHero(before, whole, own);
      return takesHero ? { ...whole, hero_photo_id: readKeys(whole).photos[0] } : whole;
    };
    const identify = (whole: Patch) => withMediaIds(withId(whole, 'hid', 'slug'));
    const faults = doubleReferences(raw.value);
    const form = { schema: writtenListing, merge, identify, faults, nameFault };
    return { ...complete(raw, old, form), takesHero };
  });
  const whole: WholeFile = { locations, amenities, properties };
  return { file: whole, problems: [...problems, ...repeatedKeys(whole)] };
}

/** How a section completes its records. */
type Form<T> = {
  schema: z.ZodType<T>;
  /** Merges a record of a patch into the stored one. */
  merge: (own: Patch) => Patch;
  /** Gives a record without an id its id. */
  identify: (whole: Patch) => Patch;
  /** The faults that the schema does not find. */
  faults?: Fault[];
  nameFault?: Fault | undefined;
};

/** Returns the whole record. All fields that a new record of a patch lacks are one problem. */
function completed<T>(
  { name, value: own }: RawRecord,
  isPatch: boolean,
  old: object | undefined,
  { schema, merge, identify, faults: others = [], nameFault }: Form<T>,
): { record: FileRecord<T>; faults: Fault[] } {
  const ownKeys = readKeys(own);
  const hasId = isMap(own) && own.id !== undefined;
  const idField = hasId ? 'id' : ownKeys.hid === undefined ? 'slug' : 'hid';
  const whole = isMap(own) ? identify(isPatch ? merge(own) : own) : own;
  const keys = readKeys(whole);
  const { value, faults } = parsed(schema, whole);
  const isNew = isPatch && isMap(own) && old === undefined;
  const { lacking = [], wrong = [] } = Object.groupBy(faults, ({ code }) =>
    isNew && code === 'missing' ? 'lacking' : 'wrong',
  );
  const details = [name.kind, idField, lacking.map(({ path }) => path).join(', ')];
  const incomplete: Fault[] = lacking.length > 0 ? [{ path: '', code: 'incomplete', details }] : [];
  // A malformed key that names no record is reported itself.
  const isMalformed = wrong.some(({ path }) => ['id', 'hid', 'slug'].includes(path));
  const isNamed = ownKeys[idField] !== undefined || !isMalformed;
  const naming = nameFault === undefined ? incomplete : [nameFault];
  const mediaIds = new Set([...ownKeys.photos, ...ownKeys.videos]);
  return {
    record: { name, keys, idField, mediaIds, value: nameFault === undefined ? value : undefined },
    faults: [...(isNamed ? naming : []), ...wrong, ...others, ...entryFaults(keys)],
  };
}

/** Reports whether a patch brings photos to a listing, and none of them is its hero image. */
function lacksHero(before: Patch, after: Patch, patch: Patch): boolean {
  const [old, { photos, hero_photo_id }] = [readKeys(before), readKeys(after)];
  if (hero_photo_id !== undefined || patch.hero_photo !== undefined || photos[0] === undefined) {
    return false;
  }
  const isHero = (photo: unknown) => isMap(photo) && photo.section === 'hero';
  return `${old.photos}` !== `${photos}` && !listOf(after.photos).some(isHero);
}

/** Returns the fault of the keys that name a listing. `ids` are of the listings found. */
function findNameFault(
  { id, hid, slug }: RecordKeys,
  ids: readonly string[],
  { summaries }: Stored,
  mustBeStored: boolean,
): Fault | undefined {
  if ((id ?? hid ?? slug) === undefined) return { path: '', code: 'names_no_listing' };
  if (ids.length > 1) return { path: 'hid', code: 'unclear_hid', value: hid };
  if (ids.length === 1 || !mustBeStored) return undefined;
  const slugs = [...summaries.values()].map((each) => each.slug);
  return { path: '', code: 'not_stored', details: [`${slug}${didYouMean(slug ?? '', slugs)}`] };
}
