/**
 * An import brings a listings file into the store, all of it or nothing, while the service keeps serving.
 *
 *     read the catalogue's heads -> plan -> compare with the stored listings -> guard -> stage -> apply
 *
 * Everything before `stage` writes nothing, and a dry run ends there. If another import is applied in between, the
 * transaction fails, and the import begins again.
 */

import { changeCursor } from '../../src/properties/changes.ts';
import type { Source } from '../../src/properties/source.ts';
import { Overtaken, type Write, write } from './apply.ts';
import { differencesOf, recordDifferences } from './differences.ts';
import type { ReadListings, WholeFile } from './file.ts';
import { completePatch, finderOf } from './patch.ts';
import {
  guardShare,
  type Plan,
  type Pruning,
  planImport,
  prunedIds,
  type RecordChange,
  sizeProblems,
} from './plan.ts';
import type { ImportProblem } from './problem.ts';
import { type QualityWarning, qualityOf } from './quality.ts';
import { changeOf, type ListingRow, rowOf, type StoredListing } from './rows.ts';
import { type Catalogue, findListings, findUsers, pagesOf, readCatalogue } from './store.ts';

/** An import gives up after this many attempts, each overtaken by another import. */
const MAX_ATTEMPTS = 10;

/** The records of one kind in the file. */
export type Counts = { added: number; changed: number; unchanged: number };

/** A listing that the import changes, with its changes: `price_from 118000 → 121000`. */
export type ChangedListing = {
  /** The slug that it has in the store. */
  slug: string;
  /** `outside` the file: it shows a location or an amenity that the file changes. `pruned`: it is hidden. */
  reason: 'file' | 'outside' | 'pruned';
  changes: string[];
};

export type Findings = {
  /** The slugs of new listings. */
  added: string[];
  changed: ChangedListing[];
  /** The changes of stored locations and amenities. */
  changedRecords: string[];
  /** Each field, language and gallery that is emptied, with the slugs of its stored listings. */
  emptied: Map<string, string[]>;
  /** The changed slugs of public listings, `old → new`. */
  renamed: string[];
};

export type ImportOutcome =
  | { kind: 'rejected'; problems: ImportProblem[]; findings?: Findings }
  | {
      kind: 'accepted';
      listings: Counts;
      locations: Counts;
      amenities: Counts;
      findings: Findings;
      quality: QualityWarning[];
      /** Listings outside the file that show a changed location or amenity. */
      affected: number;
      pruned: number;
      /** Listings that the feed shows differently now. */
      changes: number;
      /** The public slugs of these listings, former ones too. */
      slugs: ReadonlySet<string>;
      /** The cursor that a reader of all changes holds afterwards. */
      resumeCursor: string;
    };

export type ImportOptions = {
  database: D1Database;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  isDryRun: boolean;
  pruning: Pruning;
  allowEmptied?: boolean;
  /** Called after each batch with the number of listings that have been through a phase. */
  onProgress: (phase: 'checked' | 'staged', done: number, total: number) => void;
};

/** Imports a file. Throws if the store fails: after `OutcomeUnknown`, the listings may have changed. */
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
  const { database, publicSiteUrl, pruning } = options;
  const stored = await readCatalogue(database, publicSiteUrl);
  const { file, problems: ofPatch } = await completeFile(read.file, stored, database);
  const plan = planImport(file, stored, publicSiteUrl);
  const pruned = prunedIds(file, stored, pruning);
  // Planning takes seconds, and the database may close an idle connection meanwhile. Node notices it in this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const problems = [...read.problems, ...ofPatch, ...plan.problems];
  if (pruning === 'some') problems.push(...guardShare('prunes_too_many', pruned.length, stored));
  if (problems.length > 0) return { kind: 'rejected', problems };

  const comparison = await compare(plan, pruned, stored, options);
  const { findings, writes } = comparison;
  if (!read.file.isPatch && !options.allowEmptied) {
    comparison.problems.push(...guardShare('empties_too_many', comparison.emptiedListings, stored));
  }
  if (comparison.problems.length > 0) {
    return { kind: 'rejected', problems: comparison.problems, findings };
  }

  if (!options.isDryRun) {
    await write(database, plan, writes, stored, (done) =>
      options.onProgress('staged', done, writes.length),
    );
  }

  const changes = writes.filter(({ change }) => change.isNew);
  const seq = stored.newestChange + changes.length;
  const written = plan.rows.map(({ columns }) => ({ old: stored.heads.get(columns.id) }));
  return {
    kind: 'accepted',
    listings: countsOf(plan.sources, written),
    locations: countsOf(file.locations, plan.locations),
    amenities: countsOf(file.amenities, plan.amenities),
    findings,
    quality: qualityOf(plan.sources),
    affected: findings.changed.filter(({ reason }) => reason === 'outside').length,
    pruned: pruned.length,
    changes: changes.length,
    slugs: new Set(changes.flatMap(slugsOf)),
    resumeCursor: await changeCursor({ generation: stored.generation, seq, start: seq }),
  };
}

/** Merges a patch into the stored records that it names. */
async function completeFile(
  file: ReadListings['file'],
  stored: Catalogue,
  database: D1Database,
): Promise<{ file: WholeFile; problems: ImportProblem[] }> {
  if (!file.isPatch) return { file, problems: [] };
  const find = finderOf(stored);
  const named = new Set(file.properties.flatMap(({ keys }) => find(keys).slice(0, 1)));
  const sources = new Map<string, Source>();
  for (const ids of pagesOf([...named])) {
    for (const [id, row] of await findListings(database, ids)) sources.set(id, listingOf(row));
  }
  return completePatch(file, stored, find, sources);
}

function listingOf(row: StoredListing): Source {
  return JSON.parse(row.source);
}

/** The effect of a plan on the stored listings. */
type Comparison = {
  writes: Write[];
  findings: Findings;
  problems: ImportProblem[];
  /** The number of public listings of which something is emptied. */
  emptiedListings: number;
};

/**
 * Compares the listings of a plan with the stored ones, and adds the listings outside the file that it changes: those
 * that show a changed location or amenity, and those that are pruned.
 */
async function compare(
  plan: Plan,
  pruned: readonly string[],
  stored: Catalogue,
  { database, publicSiteUrl, onProgress }: ImportOptions,
): Promise<Comparison> {
  const findings: Findings = {
    added: [],
    changed: [],
    changedRecords: changedRecords(plan),
    emptied: new Map(),
    renamed: [],
  };
  const comparison: Comparison = { writes: [], findings, problems: [], emptiedListings: 0 };
  const total = plan.sources.length;
  let done = total - plan.rows.length;
  for (const rows of pagesOf(plan.rows)) {
    const known = rows.map(({ columns }) => columns.id).filter((id) => stored.heads.has(id));
    const old = await findListings(database, known);
    for (const row of rows) add(comparison, old.get(row.columns.id), row, 'file');
    done += rows.length;
    onProgress('checked', done, total);
  }
  if (plan.rows.length === 0 && total > 0) onProgress('checked', total, total);

  const changed = replacements(plan);
  const users = await findUsers(
    database,
    [...changed.locations.keys()],
    [...changed.amenities.keys()],
  );
  const inFile = new Set(plan.sources.map(({ id }) => id));
  const others = new Set([...users, ...pruned].filter((id) => !inFile.has(id)));
  const isPruned = new Set(pruned);
  for (const ids of pagesOf([...others].sort())) {
    for (const old of (await findListings(database, ids)).values()) {
      const listing = withRecords(listingOf(old), changed);
      if (isPruned.has(old.id)) listing.status = 'hidden';
      const row = rowOf(listing, publicSiteUrl);
      const key = { field: 'slug', value: listing.slug };
      const name = { kind: 'listing', place: 'the stored listing', key } as const;
      comparison.problems.push(...sizeProblems(row, name));
      add(comparison, old, row, isPruned.has(old.id) ? 'pruned' : 'outside');
    }
  }
  return comparison;
}

function add(
  comparison: Comparison,
  stored: StoredListing | undefined,
  row: ListingRow,
  reason: ChangedListing['reason'],
): void {
  const { findings, writes } = comparison;
  const { listing } = row;
  writes.push({ ...row, change: changeOf(stored, row.columns) });
  if (stored === undefined) {
    findings.added.push(listing.slug);
    return;
  }
  const { changes, emptied } = differencesOf(listingOf(stored), listing);
  const { slug, status } = stored;
  findings.changed.push({ slug, reason, changes });
  for (const field of emptied) {
    const slugs = findings.emptied.get(field) ?? [];
    slugs.push(slug);
    findings.emptied.set(field, slugs);
  }
  if (status === 'hidden') return;
  if (slug !== listing.slug) findings.renamed.push(`${slug} → ${listing.slug}`);
  if (emptied.length > 0) comparison.emptiedListings += 1;
}

/** The changed locations and amenities that the store holds, by their keys: no stored listing uses a new one. */
function replacements({ locations, amenities }: Plan) {
  const stored = <T>({ old, now }: RecordChange<T>) => (old === undefined ? [] : [now]);
  return {
    locations: new Map(locations.flatMap(stored).map((each) => [each.id, each])),
    amenities: new Map(amenities.flatMap(stored).map((each) => [each.slug, each])),
  };
}

function withRecords(
  listing: Source,
  { locations, amenities }: ReturnType<typeof replacements>,
): Source {
  const { location } = listing;
  return {
    ...listing,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

/** Returns the public slugs of a changed listing, former ones too. */
function slugsOf({ listing, change }: Write): string[] {
  const last = listing.status === 'hidden' ? change.removed_slug : listing.slug;
  return [...(last === null ? [] : [last]), ...change.former_slugs];
}

function countsOf(records: readonly unknown[], changes: readonly { old?: unknown }[]): Counts {
  const added = changes.filter(({ old }) => old === undefined).length;
  return { added, changed: changes.length - added, unchanged: records.length - changes.length };
}

function changedRecords({ locations, amenities }: Plan): string[] {
  const records = [
    ...locations.map(({ old, now }) => ({ name: `location ${old?.slug ?? now.id}`, old, now })),
    ...amenities.map(({ old, now }) => ({ name: `amenity ${now.slug}`, old, now })),
  ];
  return records.flatMap(({ name, old, now }) => {
    const changes = old === undefined ? [] : recordDifferences(old, now);
    return changes.length === 0 ? [] : [`${name}: ${changes.join('; ')}`];
  });
}
