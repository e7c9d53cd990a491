/**
 * The plan of an import: the records of the file with their references resolved, and every problem
 * of them against the store. Pure.
 */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { FileRecord, WholeFile } from '../file.ts';
import type { ImportProblem, RecordName } from '../problem.ts';
import type { CompleteRecords } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import type { Catalogue } from '../store.ts';
import { publicIdsOf, shareProblems } from './guard.ts';
import { type ListingRow, rowOf } from './rows.ts';

/** A location or amenity that the store has differently, or lacks: then `old` is undefined. */
export type RecordChange = {
  kind: 'location' | 'amenity';
  /** The id of the location, or the slug of the amenity. */
  key: string;
  old: Location | Amenity | undefined;
  now: Location | Amenity;
};

/** The locations (by id and by slug) and amenities (by slug) that listings may name. */
type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

export type Plan = {
  file: WholeFile;
  /** All problems: of the file alone, of a merged patch, and against the store. */
  problems: ImportProblem[];
  /** The records of the store, with those of the file in their place. */
  known: Known;
  records: RecordChange[];
  /** The rows of listings that the store lacks, or has from another source or other rules. */
  rows: ListingRow[];
  unchanged: Source[];
  /** The ids of the public listings that `--prune` hides. */
  pruned: string[];
};

/** Resolves the file against the store. `publicSiteUrl` has no trailing slash. */
export function plan(
  { file, fileProblems, mergeProblems }: CompleteRecords,
  stored: Catalogue,
  { publicSiteUrl, pruning = 'none' }: { publicSiteUrl: string; pruning?: Pruning },
): Plan {
  const locations = new Map(stored.locations.map((each) => [each.id, each]));
  const amenities = new Map(stored.amenities.map((each) => [each.slug, each]));
  const known = { locations, amenities };
  const records = [
    ...replaceIn(locations, 'location', file.locations, ({ id }) => id),
    ...replaceIn(amenities, 'amenity', file.amenities, ({ slug }) => slug),
  ];
  for (const each of [...locations.values()]) {
    if (each.slug !== null) locations.set(each.slug, each);
  }
  const planned = file.properties.flatMap(({ name, value }) =>
    value === undefined ? [] : [{ name, row: rowOf(sourceOf(value, known), publicSiteUrl) }],
  );
  const pruned = prunedIds(file, stored, pruning);
  const problems = distinct(fileProblems, [
    ...mergeProblems,
    ...slugCollisions(file.locations, stored.locations),
    ...slugCollisions(file.properties, [...stored.heads.values()]),
    ...unknownReferences(file, known),
    ...file.properties.flatMap(heroProblems),
    ...planned.flatMap(({ name, row }) => sizeProblems(row, name)),
    ...(pruning === 'some' ? shareProblems('prunes_too_many', pruned.length, stored) : []),
  ]);
  const { rows = [], same = [] } = Object.groupBy(
    planned.map(({ row }) => row),
    (row) => (differs(row, stored) ? 'rows' : 'same'),
  );
  const unchanged = same.map(({ listing }) => listing);
  return { file, problems, known, records, rows, unchanged, pruned };
}

/** Leaves out later problems of a value: an unreadable cell is a wrong value too. */
function distinct(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const placeOf = ({ record, path }: ImportProblem) => `${record.place} ${path}`;
  const known = new Set(first.map(placeOf));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(placeOf(each)))];
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

function differs({ columns }: ListingRow, { heads }: Catalogue): boolean {
  const head = heads.get(columns.id);
  return head?.source_hash !== columns.source_hash || head.rendering !== columns.rendering;
}

function slugCollisions(
  records: readonly FileRecord<unknown>[],
  stored: readonly { id: string; slug: string | null }[],
): ImportProblem[] {
  const replaced = new Set(records.map(({ keys }) => keys.id));
  const kept = new Map(
    stored.filter(({ id }) => !replaced.has(id)).map(({ id, slug }) => [slug, id]),
  );
  return records.flatMap(({ name, keys, idField }): ImportProblem[] => {
    const holder = keys.slug === undefined ? undefined : kept.get(keys.slug);
    if (holder === undefined) return [];
    const own = stored.find(({ id }) => id === keys.id)?.slug;
    if (idField === 'hid' && own) {
      const details = [own, String(keys.slug)];
      return [{ record: name, path: 'hid', code: 'hid_taken', details, value: keys.hid }];
    }
    const details = [`${name.kind} ${holder}`];
    return [{ record: name, path: 'slug', code: 'slug_taken', details, value: keys.slug }];
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

function sourceOf(listing: FileListing, { locations, amenities }: Known): Source {
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

/** A row of D1 holds 2 MB: almost half for the source, as much for document and card. */
const MAX_BYTES = 900_000;

export function sizeProblems({ columns }: ListingRow, record: RecordName): ImportProblem[] {
  const tooLarge = (to: string, ...texts: (string | null)[]): ImportProblem[] => {
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0);
    if (bytes <= MAX_BYTES) return [];
    return [{ record, path: '', code: 'too_large', details: [to, bytes, MAX_BYTES] }];
  };
  const stored = tooLarge('store', columns.source);
  return stored.length > 0 ? stored : tooLarge('show', columns.document, columns.card);
}

/** The fate of public listings outside the file. `some`: at most a fifth is hidden. */
export type Pruning = 'none' | 'some' | 'all';

function prunedIds(file: WholeFile, stored: Catalogue, pruning: Pruning): string[] {
  if (pruning === 'none') return [];
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  return publicIdsOf(stored).filter((id) => !named.has(id));
}
