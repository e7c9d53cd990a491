/** An import: a listings file into the store, all of it or nothing, while the service goes on serving. */

import type { ImportProblem, ListingsFile, ReadFile } from './import-file.ts';
import { type Plan, planImport, type Stored } from './import-plan.ts';
import {
  applyStaged,
  batchesOf,
  countDiffering,
  discardStaged,
  findLastImport,
  MAX_ROW_BYTES,
  Overtaken,
  rowOf,
  type Staging,
  stageAmenities,
  stageListings,
  stageLocations,
} from './import-staging.ts';
import { findStored, usersOf } from './import-store.ts';
import type { Amenity, Location, Source } from './source.ts';

/** Other imports may overtake one this often before it gives up. */
const MAX_ATTEMPTS = 10;
/** Rows above this many characters are measured: a smaller one cannot reach D1's limit. */
const SMALL_SOURCE_CHARACTERS = 200_000;

export type Counts = { added: number; changed: number; unchanged: number };

export type ImportOutcome =
  | { kind: 'refused'; problems: ImportProblem[] }
  | {
      kind: 'accepted';
      listings: Counts;
      locations: Counts;
      amenities: Counts;
      /** Listings that are not in the file and were rendered anew, as their location or amenities changed. */
      rerendered: number;
    };

export type ImportOptions = {
  database: D1Database;
  /** Without a trailing slash. */
  publicSiteUrl: string;
  /** Checks everything, writes nothing. */
  isDryRun: boolean;
  /** Told after each batch how many listings of the file are staged. */
  onProgress: (done: number, total: number) => void;
};

/** A file that could be read, with the problems found in it alone. */
export type ReadListings = Extract<ReadFile, { kind: 'read' }>;

/** Imports what `readListingsFile` read. Throws when the store fails; then nothing has changed. */
export async function importListings(
  read: ReadListings,
  options: ImportOptions,
): Promise<ImportOutcome> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptImport(read, options);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      if (attempt === MAX_ATTEMPTS) {
        throw new Error('other imports went on changing the store', { cause: error });
      }
    }
  }
}

async function attemptImport(read: ReadListings, options: ImportOptions): Promise<ImportOutcome> {
  const { database, publicSiteUrl } = options;
  const lastImport = await findLastImport(database);
  const stored = await findStored(database, read.file);
  const plan = planImport(read.file, stored);
  const problems = [
    ...read.problems,
    ...plan.problems,
    ...oversized(read.file, plan.sources, publicSiteUrl),
  ];
  if (problems.length > 0) return { kind: 'refused', problems };

  const staging: Staging = { database, importId: crypto.randomUUID(), stagedRows: 0 };
  try {
    const written = await writeListings(plan, stored, staging, options);
    if (!options.isDryRun) {
      await stageLocations(staging, plan.changedLocations);
      await stageAmenities(staging, plan.changedAmenities);
      if (staging.stagedRows > 0) await applyStaged(staging, lastImport);
    }
    return { kind: 'accepted', ...countsOf(plan, stored, read.file, written) };
  } catch (error) {
    // The rows are of no use to anyone; if they cannot be removed now, the next import does it.
    if (staging.stagedRows > 0) await discardStaged(staging).catch(() => undefined);
    throw error;
  }
}

type Written = { listings: number; rerendered: number };

/** Stages the listings of the file and those others that show something that changes. */
async function writeListings(
  plan: Plan,
  stored: Stored,
  staging: Staging,
  { database, publicSiteUrl, isDryRun, onProgress }: ImportOptions,
): Promise<Written> {
  const write = (batch: string[]) =>
    isDryRun ? countDiffering(database, batch) : stageListings(staging, batch);
  const written: Written = { listings: 0, rerendered: 0 };
  let done = 0;
  for (const batch of batchesOf(rowsOf(plan.sources, publicSiteUrl))) {
    written.listings += await write(batch);
    done += batch.length;
    onProgress(done, plan.sources.length);
  }
  for await (const others of othersShowingChanges(plan, stored, database)) {
    for (const batch of batchesOf(rowsOf(others, publicSiteUrl))) {
      written.rerendered += await write(batch);
    }
  }
  return written;
}

/** Stored listings outside the file whose location or amenities the file changes, with the change in them. */
async function* othersShowingChanges(plan: Plan, stored: Stored, database: D1Database) {
  const inFile = new Set(plan.sources.map(({ id }) => id));
  const locations = storedAmong(plan.changedLocations, stored.locations, ({ id }) => id);
  const amenities = storedAmong(plan.changedAmenities, stored.amenities, ({ slug }) => slug);
  for await (const users of usersOf(database, [...locations.values()], [...amenities.values()])) {
    yield users
      .filter(({ id }) => !inFile.has(id))
      .map((listing) => withChanges(listing, locations, amenities));
  }
}

function withChanges(
  listing: Source,
  locations: ReadonlyMap<string, Location>,
  amenities: ReadonlyMap<string, Amenity>,
): Source {
  const { location } = listing;
  return {
    ...listing,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

/** Those of `changed` that replace a stored record, by key. */
function storedAmong<T>(changed: readonly T[], stored: readonly T[], key: (record: T) => string) {
  const known = new Set(stored.map(key));
  return new Map(changed.filter((each) => known.has(key(each))).map((each) => [key(each), each]));
}

function* rowsOf(sources: Iterable<Source>, publicSiteUrl: string): Generator<string> {
  for (const each of sources) yield rowOf(each, publicSiteUrl);
}

function oversized(
  file: ListingsFile,
  sources: readonly Source[],
  publicSiteUrl: string,
): ImportProblem[] {
  const names = new Map(file.properties.map(({ keys, name }) => [keys.id, name]));
  return sources.flatMap((each) => {
    if (JSON.stringify(each).length < SMALL_SOURCE_CHARACTERS) return [];
    const bytes = Buffer.byteLength(rowOf(each, publicSiteUrl));
    if (bytes <= MAX_ROW_BYTES) return [];
    const message = `is too large to store: ${bytes} bytes with what is rendered from it, at most ${MAX_ROW_BYTES}`;
    return [{ record: names.get(each.id) ?? each.id, path: '', message }];
  });
}

function countsOf(plan: Plan, stored: Stored, file: ListingsFile, written: Written) {
  const id = (record: { id: string }) => record.id;
  const slug = (record: { slug: string }) => record.slug;
  const locations = plan.changedLocations.length;
  const amenities = plan.changedAmenities.length;
  return {
    listings: counts(
      plan.sources.length,
      written.listings,
      missing<{ id: string }>(plan.sources, stored.listings, id),
    ),
    locations: counts(
      file.locations.length,
      locations,
      missing(plan.changedLocations, stored.locations, id),
    ),
    amenities: counts(
      file.amenities.length,
      amenities,
      missing(plan.changedAmenities, stored.amenities, slug),
    ),
    rerendered: written.rerendered,
  };
}

function counts(total: number, written: number, added: number): Counts {
  return { added, changed: written - added, unchanged: total - written };
}

/** How many of the records the store does not hold. */
function missing<Key>(
  records: readonly Key[],
  stored: readonly Key[],
  key: (record: Key) => string,
): number {
  const known = new Set(stored.map(key));
  return records.filter((each) => !known.has(key(each))).length;
}
