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
import { renderApplied } from './rendering.ts';
import { batchesOf, type StagedRow, stagedRowOf } from './rows.ts';
import { sizeProblems } from './sizes.ts';
import {
  countDiffering,
  discardStaged,
  type Staging,
  stageAmenities,
  stageListings,
  stageLocations,
} from './staging.ts';
import { findStored } from './store.ts';

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
      /** Tells whether rendering was interrupted: what is left is rendered when it is read. */
      isRenderingLeft: boolean;
    } & ImportCounts);

export type ImportOptions = {
  database: D1Database;
  /** Without a trailing slash. */
  publicSiteUrl: string;
  /** Checks everything, writes nothing. */
  isDryRun: boolean;
  /** Called after each batch with the number of listings that have been through a phase. */
  onProgress: (phase: 'checked' | 'rendered', done: number, total: number) => void;
};

/** Imports a file. Throws when the store fails; then nothing has changed. */
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
  const problems = [...read.problems, ...plan.problems, ...oversized(plan, read, publicSiteUrl)];
  if (problems.length > 0) return { kind: 'refused', problems };

  const staging: Staging = {
    database,
    importId: crypto.randomUUID(),
    publicSiteUrl,
    stagedRows: 0,
  };
  const written = await writeAll(staging, plan, stored, lastImport, options);
  if (written.kind === 'refused') return written;
  return {
    kind: 'accepted',
    ...countsOf(read.file, plan, stored, written.ofFile),
    affected: written.affected,
    isRenderingLeft: !(await renderApplied(staging, written.batches, (done, total) =>
      onProgress('rendered', done, total),
    )),
  };
}

type Written = {
  kind: 'written';
  ofFile: number;
  affected: number;
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
  plan: Plan,
  stored: Stored,
  lastImport: string | null,
  { isDryRun, onProgress }: ImportOptions,
): Promise<Written | Refused> {
  const written: Written = { kind: 'written', ofFile: 0, affected: 0, batches: [] };
  const write = async (batch: StagedRow[]) => {
    if (isDryRun) return countDiffering(staging, batch);
    const rows = await stageListings(staging, batch);
    if (rows > 0) written.batches.push(batch);
    return rows;
  };
  try {
    let done = 0;
    for (const batch of batchesOf(rowsOf(plan.sources))) {
      written.ofFile += await write(batch);
      done += batch.length;
      onProgress('checked', done, plan.sources.length);
    }
    const problems: ImportProblem[] = [];
    for await (const listings of affectedListings(staging.database, plan, stored)) {
      for (const listing of listings) {
        problems.push(...sizeProblems(listing, storedName(listing), staging.publicSiteUrl));
      }
      if (problems.length > 0) continue;
      for (const batch of batchesOf(rowsOf(listings))) written.affected += await write(batch);
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
