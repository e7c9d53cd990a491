/**
 * An import brings a listings file into the store, all of it or nothing, while the service goes on serving.
 *
 * The rows are staged, then applied by one transaction, then rendered batch by batch: the less a transaction writes,
 * the shorter it keeps readers waiting, and a reader in between renders the listing itself.
 */

import type { Source } from '../../src/properties/source.ts';
import { affectedListings } from './affected.ts';
import { applyStaged, findLastImport, Overtaken } from './apply.ts';
import { differencesOf, recordDifferences } from './differences.ts';
import type { ReadListings } from './file.ts';
import { source } from './listing-schemas.ts';
import { completePatch } from './patch.ts';
import {
  isTooMany,
  type Plan,
  type Pruning,
  planImport,
  prune,
  type Stored,
  sizeProblems,
} from './plan.ts';
import { type ImportProblem, THE_FILE } from './problem.ts';
import { type QualityWarning, qualityOf } from './quality.ts';
import { renderApplied } from './rendering.ts';
import { jsonBatchesOf, type StagedRow, stagedRowOf } from './rows.ts';
import {
  discardStaged,
  findDiffering,
  type Staging,
  stageListings,
  stageRecords,
} from './staging.ts';
import { findPublicIds, findResumeCursor, findSources, findStored } from './store.ts';

/** An import gives up after so many attempts, each overtaken by another import. */
const MAX_ATTEMPTS = 10;

/** The numbers of the file's records of one kind, by outcome. */
export type Counts = { added: number; changed: number; unchanged: number };

/** A listing that the import changes, with its changes: `price_from 118000 → 121000`. */
export type ChangedListing = {
  /** The slug that it has in the store. */
  slug: string;
  /** `outside` the file: it shows a location or an amenity that the file changes. `pruned`: it is hidden. */
  reason: 'file' | 'outside' | 'pruned';
  changes: string[];
};

/** The changes of an import, for its report. */
export type Findings = {
  /** The slugs of new listings. */
  added: string[];
  /** Every changed listing; in a dry run only. */
  changed: ChangedListing[];
  /** The changes of stored locations and amenities; in a dry run only. */
  changedRecords: string[];
  /** Each field, language and gallery that is emptied, with the slugs of its stored listings. */
  emptied: Map<string, string[]>;
  /** The changed slugs of public listings, `old → new`. */
  renamed: string[];
};

/** The outcome of an import, or of a dry run. */
export type ImportOutcome =
  | { kind: 'refused'; problems: ImportProblem[]; findings?: Findings }
  | {
      kind: 'accepted';
      listings: Counts;
      locations: Counts;
      amenities: Counts;
      findings: Findings;
      quality: QualityWarning[];
      /** The number of listings outside the file that show a changed location or amenity. */
      affected: number;
      /** The number of public listings that the file does not name: pruning has hidden them. */
      pruned: number;
      /** The number of listings that the feed shows differently now. */
      changes: number;
      /** The public slugs of these listings, former ones too. */
      slugs: ReadonlySet<string>;
      /** The cursor that a reader of all changes holds now; null when nothing changed, or in a dry run. */
      resumeCursor: string | null;
      /** Whether rendering was interrupted: the remaining listings are rendered when they are read. */
      isRenderingLeft: boolean;
    };

export type ImportOptions = {
  database: D1Database;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  /** Checks everything, writes nothing. */
  isDryRun: boolean;
  /** The fate of the public listings that the file does not name. */
  pruning: Pruning;
  /** Lets a file that is no patch empty fields of more than a fifth of the public listings. */
  allowEmptied?: boolean;
  /** Called after each batch with the number of listings that have been through a phase. */
  onProgress: (phase: 'checked' | 'rendered', done: number, total: number) => void;
};

/** Imports a file. Throws when the store fails. Only `OutcomeUnknown` leaves open whether the listings changed. */
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
  const { database, publicSiteUrl, isDryRun, pruning, onProgress } = options;
  const lastImport = await findLastImport(database);
  const stored = await findStored(database, read.file);
  const { file, problems: ofPatch } = read.file.isPatch
    ? completePatch(read.file, stored)
    : { file: read.file, problems: [] };
  const plan = planImport(file, stored, publicSiteUrl);
  // Planning takes seconds for thousands of listings. The database may close an idle connection meanwhile. Node notices
  // this in the next turn of its loop; without the turn, the next call would fail.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const pruned =
    pruning === 'none'
      ? { ids: [], problems: [] }
      : prune(file, await findPublicIds(database), pruning);
  const problems = [...read.problems, ...ofPatch, ...plan.problems, ...pruned.problems];
  if (problems.length > 0) return { kind: 'refused', problems };

  const staging: Staging = {
    database,
    importId: crypto.randomUUID(),
    publicSiteUrl,
    stagedRows: 0,
  };
  const work = { plan, stored, lastImport, pruned: pruned.ids, isPatch: read.file.isPatch };
  const written = await writeAll(staging, work, options);
  if (written.kind === 'refused') return written;
  const { findings, ofFile } = written;
  const added = findings.added.length;
  return {
    kind: 'accepted',
    listings: { added, changed: ofFile - added, unchanged: plan.sources.length - ofFile },
    locations: countsOf(file.locations, plan.changedLocations, stored.locations, ({ id }) => id),
    amenities: countsOf(
      file.amenities,
      plan.changedAmenities,
      stored.amenities,
      (each) => each.slug,
    ),
    findings,
    quality: qualityOf(plan.sources),
    affected: written.affected,
    pruned: pruned.ids.length,
    changes: written.changes,
    slugs: written.slugs,
    // The import is done, even if this read fails.
    resumeCursor:
      written.changes > 0 && !isDryRun ? await findResumeCursor(database).catch(() => null) : null,
    isRenderingLeft:
      !isDryRun &&
      !(await renderApplied(staging, written.batches, (done, total) =>
        onProgress('rendered', done, total),
      )),
  };
}

function countsOf<T>(
  inFile: readonly unknown[],
  written: readonly T[],
  stored: readonly T[],
  keyOf: (record: T) => string,
): Counts {
  const known = new Set(stored.map(keyOf));
  const added = written.filter((each) => !known.has(keyOf(each))).length;
  return { added, changed: written.length - added, unchanged: inFile.length - written.length };
}

/** The store that an import was checked against, and its plan. */
type Work = {
  plan: Plan;
  stored: Stored;
  lastImport: string | null;
  /** The ids of the listings to be hidden. */
  pruned: readonly string[];
  isPatch: boolean;
};

type Written = {
  kind: 'written';
  ofFile: number;
  affected: number;
  changes: number;
  slugs: Set<string>;
  findings: Findings;
  /** The batches of staged rows, whose listings have to be rendered. */
  batches: StagedRow[][];
};
type Refused = Extract<ImportOutcome, { kind: 'refused' }>;

/**
 * Stages every record that differs from the store, and applies them. Refuses when a change of the file makes a listing
 * outside of it too large, or when too much would be emptied.
 */
async function writeAll(
  staging: Staging,
  { plan, stored, lastImport, pruned, isPatch }: Work,
  { isDryRun, allowEmptied, onProgress }: ImportOptions,
): Promise<Written | Refused> {
  const findings: Findings = {
    added: [],
    changed: [],
    changedRecords: isDryRun ? changedRecords(plan, stored) : [],
    emptied: new Map(),
    renamed: [],
  };
  const written: Written = {
    kind: 'written',
    ofFile: 0,
    affected: 0,
    changes: 0,
    slugs: new Set(),
    findings,
    batches: [],
  };
  const emptiedListings = new Set<string>();
  const isPruned = new Set(pruned);
  const write = async (batch: StagedRow[], reason: ChangedListing['reason']) => {
    const { rows, replaced, changes, slugs } = await (isDryRun ? findDiffering : stageListings)(
      staging,
      batch,
    );
    if (rows.length > 0) written.batches.push(rows);
    written.changes += changes;
    for (const slug of slugs) written.slugs.add(slug);
    for (const { listing } of rows) {
      const text = replaced.get(listing.id);
      if (text === undefined) {
        findings.added.push(listing.slug);
        continue;
      }
      const old = source.parse(JSON.parse(text));
      const { changes, emptied } = differencesOf(old, listing);
      const because = isPruned.has(listing.id) ? 'pruned' : reason;
      if (isDryRun) findings.changed.push({ slug: old.slug, reason: because, changes });
      if (old.slug !== listing.slug && old.status !== 'hidden') {
        findings.renamed.push(`${old.slug} → ${listing.slug}`);
      }
      if (emptied.length > 0 && old.status !== 'hidden') emptiedListings.add(old.id);
      for (const field of emptied) {
        const slugs = findings.emptied.get(field) ?? [];
        slugs.push(old.slug);
        findings.emptied.set(field, slugs);
      }
    }
    return rows;
  };
  try {
    let done = 0;
    for (const batch of jsonBatchesOf(rowsOf(plan.sources))) {
      written.ofFile += (await write(batch, 'file')).length;
      done += batch.length;
      onProgress('checked', done, plan.sources.length);
    }
    const problems: ImportProblem[] = [];
    for await (const listings of affectedListings(staging.database, plan, stored, isPruned)) {
      for (const listing of listings) {
        const name = { place: 'the stored listing', key: { field: 'slug', value: listing.slug } };
        problems.push(...sizeProblems(listing, name, staging.publicSiteUrl));
      }
      if (problems.length > 0) continue;
      for (const batch of jsonBatchesOf(rowsOf(listings))) {
        for (const { listing } of await write(batch, 'outside')) {
          if (!isPruned.delete(listing.id)) written.affected += 1;
        }
      }
    }
    for await (const listings of findSources(staging.database, [...isPruned])) {
      if (problems.length > 0) break;
      const hidden = listings.map((listing) => ({ ...listing, status: 'hidden' as const }));
      for (const batch of jsonBatchesOf(rowsOf(hidden))) await write(batch, 'pruned');
    }
    if (!isPatch && !allowEmptied && emptiedListings.size > 0) {
      const publicListings = (await findPublicIds(staging.database)).length;
      if (isTooMany(emptiedListings.size, publicListings)) {
        const message = `would empty something of ${emptiedListings.size} of the ${publicListings} public listings, more than a fifth: --patch keeps what a file leaves out, and --allow-emptied empties it`;
        problems.push({ record: THE_FILE, path: '', message });
      }
    }
    if (problems.length > 0) {
      await discard(staging);
      return { kind: 'refused', problems, findings };
    }
    if (!isDryRun) {
      await stageRecords(staging, 'location', plan.changedLocations, ({ id }) => id);
      await stageRecords(staging, 'amenity', plan.changedAmenities, ({ slug }) => slug);
      if (staging.stagedRows > 0) await applyStaged(staging, lastImport);
    }
    return written;
  } catch (error) {
    await discard(staging);
    throw error;
  }
}

/** Removes the staged rows. A failure is ignored, because the next import removes them too. */
async function discard(staging: Staging): Promise<void> {
  if (staging.stagedRows > 0) await discardStaged(staging).catch(() => undefined);
}

function* rowsOf(listings: Iterable<Source>): Generator<StagedRow> {
  for (const listing of listings) yield stagedRowOf(listing);
}

/** Returns a line for each stored location and amenity that the file changes. */
function changedRecords({ changedLocations, changedAmenities }: Plan, stored: Stored): string[] {
  const locations = new Map(stored.locations.map((each) => [each.id, each]));
  const amenities = new Map(stored.amenities.map((each) => [each.slug, each]));
  const line = (record: string, changes: string[]) =>
    changes.length === 0 ? [] : [`${record}: ${changes.join('; ')}`];
  return [
    ...changedLocations.flatMap((each) => {
      const old = locations.get(each.id) ?? each;
      return line(`location ${old.slug ?? old.id}`, recordDifferences(old, each));
    }),
    ...changedAmenities.flatMap((each) => {
      const old = amenities.get(each.slug) ?? each;
      return line(`amenity ${each.slug}`, recordDifferences(old, each));
    }),
  ];
}
