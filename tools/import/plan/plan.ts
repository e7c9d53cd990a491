/**
 * The plan of an import: the records of the file with their references resolved, and every problem
 * of them against the store. Pure.
 */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import { type CompleteRecords, distinct } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import type { Catalogue } from '../read/store.ts';
import type { FileRecord, WholeFile } from '../read/types.ts';
import { limitShare, limitSize, listPublicIds } from './limits.ts';
import { type ListingRow, renderRow } from './rows.ts';
import type { ImportOptions, Known, Plan, PlannedRow, Pruning, RecordChange } from './types.ts';

/** Resolves the file against the store. `publicSiteUrl` has no trailing slash. */
export function plan(
  { file, isPatch, removed, problems: ofFile }: CompleteRecords,
  stored: Catalogue,
  { publicSiteUrl, pruning = 'none' }: Pick<ImportOptions, 'publicSiteUrl' | 'pruning'>,
): Plan {
  const locations = new Map(stored.locations.map((each) => [each.id, each]));
  const amenities = new Map(stored.amenities.map((each) => [each.slug, each]));
  const known = { locations, amenities };
  const records = [
    ...removeFrom(locations, 'location', removed.locations),
    ...removeFrom(amenities, 'amenity', removed.amenities),
    ...replaceIn(locations, 'location', file.locations, ({ id }) => id),
    ...replaceIn(amenities, 'amenity', file.amenities, ({ slug }) => slug),
  ];
  for (const each of [...locations.values()]) {
    if (each.slug !== null) locations.set(each.slug, each);
  }
  const planned = file.properties.flatMap((record): PlannedRow[] => {
    if (record.value === undefined) return [];
    return [{ ...renderRow(resolveSource(record.value, known), publicSiteUrl), record }];
  });
  const isKept = ({ id }: Location) => !removed.locations.includes(id);
  const pruned = prunedIds(file, stored, pruning);
  const problems = distinct(ofFile, [
    ...keyProblems(file.locations, stored.locations.filter(isKept), isPatch),
    ...keyProblems(file.properties, [...stored.summaries.values()], isPatch),
    ...unknownReferences(file, known),
    ...file.properties.flatMap(heroProblems),
    ...planned.flatMap((row) => limitSize(row, row.record.name)),
    ...(pruning === 'some' ? limitShare('prunes_too_many', pruned.length, stored) : []),
  ]);
  const { rows = [], same = [] } = Object.groupBy(planned, (row) =>
    differs(row, stored) ? 'rows' : 'same',
  );
  const unchanged = same.map(({ listing }) => listing);
  return { file, problems, known, records, rows, unchanged, pruned };
}

/** Puts the records of a file into `known`. Returns the changed ones. */
function replaceIn<T extends Location | Amenity>(
  known: Map<string, T>,
  kind: RecordChange['kind'],
  records: readonly FileRecord<T>[],
  keyOf: (record: T) => string,
): RecordChange[] {
  return records.flatMap(({ value: now }) => {
    if (now === undefined) return [];
    const key = keyOf(now);
    const old = known.get(key);
    // One schema has put the fields of both in order.
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    known.set(key, now);
    return [{ kind, key, old, now }];
  });
}

/** Removes stored records from `known`. */
function removeFrom<T extends Location | Amenity>(
  known: Map<string, T>,
  kind: RecordChange['kind'],
  keys: readonly string[],
): RecordChange[] {
  return keys.flatMap((key) => {
    const old = known.get(key);
    return known.delete(key) ? [{ kind, key, old, now: undefined }] : [];
  });
}

function differs({ columns }: ListingRow, { summaries }: Catalogue): boolean {
  const old = summaries.get(columns.id);
  return old?.source_hash !== columns.source_hash || old.rendering !== columns.rendering;
}

type StoredKeys = { id: string; hid?: string | null; slug: string | null };

/** Rejects slugs and derived ids that another stored record has. */
function keyProblems(
  records: readonly FileRecord<unknown>[],
  stored: readonly StoredKeys[],
  isPatch: boolean,
): ImportProblem[] {
  const replaced = new Set(records.map(({ keys }) => keys.id));
  const byId = new Map(stored.map((each) => [each.id, each]));
  const kept = new Map(
    stored.filter(({ id }) => !replaced.has(id)).map(({ id, slug }) => [slug, id]),
  );
  return records.flatMap(({ name: record, keys, idField }): ImportProblem[] => {
    const { id, hid, slug } = keys;
    const own = id === undefined ? undefined : byId.get(id);
    const value = keys[idField];
    const isNamed = (hid !== undefined && own?.hid === hid) || own?.slug === slug;
    if (own && idField !== 'id' && !isNamed) {
      const details = [`${record.kind} ${own.slug ?? own.id}`, idField, 'slug'];
      return [{ record, path: idField, code: 'id_taken', details, value }];
    }
    const holder = slug === undefined ? undefined : kept.get(slug);
    if (holder === undefined || id === undefined) return [];
    if (idField === 'hid' && own) {
      const details = [String(own.slug), String(slug)];
      return [{ record, path: 'hid', code: 'hid_taken', details, value: hid }];
    }
    const advice = isPatch ? '' : ': give that id, or import the file with --patch';
    const details = [`${record.kind} ${holder}`, advice];
    return [{ record, path: 'slug', code: 'slug_taken', details, value: slug }];
  });
}

/** Rejects names of locations and amenities that are neither in the file nor in the store. */
function unknownReferences(
  { locations, amenities, properties }: WholeFile,
  known: Known,
): ImportProblem[] {
  const inFile = locations.flatMap(({ keys }) => [keys.id, keys.slug]);
  const names = {
    location: new Set([...known.locations.keys(), ...inFile]),
    amenity: new Set([...known.amenities.keys(), ...amenities.map(({ keys }) => keys.slug)]),
  };
  return properties.flatMap(({ name: record, keys }) => {
    const references = [
      { path: 'location_id', kind: 'location', key: keys.location_id } as const,
      { path: 'location', kind: 'location', key: keys.location } as const,
      ...keys.amenities.map(
        (key, index) => ({ path: `amenities.${index}`, kind: 'amenity', key }) as const,
      ),
    ];
    return references
      .filter(({ kind, key }) => key !== undefined && !names[kind].has(key))
      .map(({ path, kind, key }): ImportProblem => {
        const subject = `${kind} ${JSON.stringify(key)}`;
        const known = [...names[kind]].flatMap((name) => name ?? []);
        return { record, path, subject, code: 'not_known', unknown: { name: String(key), known } };
      });
  });
}

function heroProblems({ name, value }: FileRecord<FileListing>): ImportProblem[] {
  const { hero_photo, photos = [] } = value ?? {};
  if (typeof hero_photo !== 'string' || photos.some(({ url }) => url === hero_photo)) return [];
  return [{ record: name, path: 'hero_photo', code: 'hero_address', value: hero_photo }];
}

function resolveSource(listing: FileListing, { locations, amenities }: Known): Source {
  const { location_id, location = location_id, hero_photo, amenities: slugs, ...own } = listing;
  return {
    ...own,
    ...(hero_photo !== undefined && {
      hero_photo_id: own.photos.find(({ url }) => url === hero_photo)?.id ?? null,
    }),
    location: locations.get(location ?? '') ?? null,
    amenities: slugs.flatMap((each) => amenities.get(each) ?? []),
  };
}

function prunedIds(file: WholeFile, stored: Catalogue, pruning: Pruning): string[] {
  if (pruning === 'none') return [];
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  return listPublicIds(stored).filter((id) => !named.has(id));
}
