/**
 * An import brings a listings file into the store, all of it or nothing, while the service goes on
 * serving.
 *
 * The rows are staged, then applied by one transaction, then rendered batch by batch: the less a
 * transaction writes, the shorter it keeps readers waiting, and a reader that comes in between renders
 * the listing itself.
 */

import type { Source } from '../../src/properties/source.ts';
import { affectedListings } from './affected.ts';
import { applyStaged, findLastImport, Overtaken } from './apply.ts';
import { countsOf, type ImportCounts } from './counts.ts';
import type { ReadFile } from './file.ts';
import { type Plan, planImport, type Stored } from './plan.ts';
import type { ImportProblem } from './problem.ts';
import { type Pruned, type Pruning, prune } from './prune.ts';
import { renderApplied } from './rendering.ts';
import { jsonBatchesOf, type StagedRow, stagedRowOf } from './rows.ts';
import { sizeProblems } from './sizes.ts';
import {
  discardStaged,
  findDiffering,
  type Staging,
  stageAmenities,
  stageListings,
  stageLocations,
} from './staging.ts';
import { findPublicIds, findResumeCursor, findSources, findStored } from './store.ts';

/** An import gives up after so many attempts, each overtaken by another import. */
const MAX_ATTEMPTS = 10;

/** A readable file, with the problems found in it alone. */
export type ReadListings = Extract<ReadFile, { kind: 'read' }>;

/** The outcome of an import, or of a dry run. */
export type ImportOutcome =
  | { kind: 'refused'; problems: ImportProblem[] }
  | ({
      kind: 'accepted';
      /** The number of listings outside the file that show a changed location or amenity. */
      affected: number;
      /** The number of public listings that the file does not name: pruning has hidden them. */
      pruned: number;
      /** The number of listings that the feed shows otherwise from now on. */
      changes: number;
      /** The cursor that a reader of all changes holds now; null when nothing changed, or in a dry run. */
      resumeCursor: string | null;
      /** Tells whether rendering was interrupted: what is left is rendered when it is read. */
      isRenderingLeft: boolean;
    } & ImportCounts);

export type ImportOptions = {
  database: D1Database;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  /** Checks everything, writes nothing. */
  isDryRun: boolean;
  /** The fate of the public listings that the file does not name. */
  pruning: Pruning;
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
  const { database, publicSiteUrl, onProgress } = options;
  const lastImport = await findLastImport(database);
  const stored = await findStored(database, read.file);
  const plan = planImport(read.file, stored);
  const pruned =
    options.pruning === 'none'
      ? NOTHING_PRUNED
      : prune(read.file, await findPublicIds(database), options.pruning);
  const problems = [
    ...read.problems,
    ...plan.problems,
    ...oversized(plan, read, publicSiteUrl),
    ...pruned.problems,
  ];
  if (problems.length > 0) return { kind: 'refused', problems };

  const staging: Staging = {
    database,
    importId: crypto.randomUUID(),
    publicSiteUrl,
    stagedRows: 0,
  };
  const written = await writeAll(
    staging,
    { plan, stored, lastImport, pruned: pruned.ids },
    options,
  );
  if (written.kind === 'refused') return written;
  return {
    kind: 'accepted',
    ...countsOf(read.file, plan, stored, written.ofFile),
    affected: written.affected,
    pruned: pruned.ids.length,
    changes: written.changes,
    // The import is done, even if this read fails.
    resumeCursor:
      written.changes > 0 && !options.isDryRun
        ? await findResumeCursor(database).catch(() => null)
        : null,
    isRenderingLeft: !(await renderApplied(staging, written.batches, (done, total) =>
      onProgress('rendered', done, total),
    )),
  };
}

const NOTHING_PRUNED: Pruned = { ids: [], problems: [] };

/** The store that an import was checked against, and its plan. */
type Work = {
  plan: Plan;
  stored: Stored;
  lastImport: string | null;
  /** The ids of the listings to be hidden. */
  pruned: readonly string[];
};

type Written = {
  kind: 'written';
  ofFile: number;
  affected: number;
  changes: number;
  /** The batches in which something was staged; their listings are to be rendered. */
  batches: StagedRow[][];
};
type Refused = Extract<ImportOutcome, { kind: 'refused' }>;

/**
 * Stages everything that differs from the store, and applies it, unless a listing outside the file
 * would become too large by what the file changes in it.
 */
async function writeAll(
  staging: Staging,
  { plan, stored, lastImport, pruned }: Work,
  { isDryRun, onProgress }: ImportOptions,
): Promise<Written | Refused> {
  const written: Written = { kind: 'written', ofFile: 0, affected: 0, changes: 0, batches: [] };
  const isPruned = new Set(pruned);
  const write = async (batch: StagedRow[]) => {
    const { rows, changes } = await (isDryRun ? findDiffering : stageListings)(staging, batch);
    if (rows.length > 0) written.batches.push(rows);
    written.changes += changes;
    return rows;
  };
  try {
    let done = 0;
    for (const batch of jsonBatchesOf(rowsOf(plan.sources))) {
      written.ofFile += (await write(batch)).length;
      done += batch.length;
      onProgress('checked', done, plan.sources.length);
    }
    const problems: ImportProblem[] = [];
    for await (const listings of affectedListings(staging.database, plan, stored, isPruned)) {
      for (const listing of listings) {
        problems.push(...sizeProblems(listing, storedName(listing), staging.publicSiteUrl));
      }
      if (problems.length > 0) continue;
      for (const batch of jsonBatchesOf(rowsOf(listings))) {
        for (const { listing } of await write(batch)) {
          if (!isPruned.delete(listing.id)) written.affected += 1;
        }
      }
    }
    for await (const listings of findSources(staging.database, [...isPruned])) {
      if (problems.length > 0) break;
      const hidden = listings.map((listing) => ({ ...listing, status: 'hidden' as const }));
      for (const batch of jsonBatchesOf(rowsOf(hidden))) await write(batch);
    }
    if (problems.length > 0) {
      await discard(staging);
      return { kind: 'refused', problems };
    }
    if (!isDryRun) {
      await stageLocations(staging, plan.changedLocations);
      await stageAmenities(staging, plan.changedAmenities);
      if (staging.stagedRows > 0) await applyStaged(staging, lastImport);
    }
    return written;
  } catch (error) {
    await discard(staging);
    throw error;
  }
}

/** Removes what is staged. Nobody needs it: if that fails, the next import removes it. */
async function discard(staging: Staging): Promise<void> {
  if (staging.stagedRows > 0) await discardStaged(staging).catch(() => undefined);
}

function* rowsOf(listings: Iterable<Source>): Generator<StagedRow> {
  for (const listing of listings) yield stagedRowOf(listing);
}

function oversized(plan: Plan, { file }: ReadListings, publicSiteUrl: string): ImportProblem[] {
  const names = new Map(file.properties.map(({ keys, name }) => [keys.id, name]));
  return plan.sources.flatMap((listing) =>
    sizeProblems(listing, names.get(listing.id) ?? storedName(listing), publicSiteUrl),
  );
}

/** Names a listing that is not in the file. */
function storedName({ slug }: Source): string {
  return `the stored listing ${JSON.stringify(slug)}`;
}
