/**
 * Loads all of a listings file into the store, or nothing if it has a problem. The service keeps
 * running during an import. These are the folders, in the order in which a value of the file passes them:
 *
 *     read/        the bytes of a file            → records of JSON, or rows of a workbook
 *     catalogue/   the database                   → stored listings, their schemas and versions
 *     match/       rows, stored listings          → the stored record of each row
 *     merge/       exported, file, store          → an outcome for each value, and patches
 *     plan/        records or patches, catalogue  → what the import would change, or problems
 *     write/       the changes                    → an undo file, then one transaction
 *     report/      the outcome                    → output, and a call of the build hook
 *
 * The function `plan` calls the merge of a workbook, which calls the match:
 *
 *     plan → completeRecords → mergeWorkbook → matchSheets
 *
 * A dry run ends after `plan`. An import that lost a race starts again by reading the catalogue.
 * docs/explain/architecture.md describes each step.
 */

import { changeCursor } from '../../src/properties/changes.ts';
import { findUser } from '../database/operations.ts';
import type { Author } from './catalogue/last-change.ts';
import {
  type Catalogue,
  type OnProgress,
  readCatalogue,
  readImportState,
} from './catalogue/store.ts';
import type { ListingChange } from './plan/changes.ts';
import {
  type AcceptedPlan,
  type Effect,
  type PlanOptions,
  plan,
  type RejectedImport,
} from './plan/plan.ts';

import { findExportKey, type ListingsFile } from './read/file.ts';
import { apply, UnknownOutcomeError } from './write/apply.ts';

const MAX_ATTEMPTS = 10;

export type ImportOptions = PlanOptions & {
  database: D1Database;
  isDryRun: boolean;
  /** The undo file, which is saved before the import changes anything. */
  undo?: { save: (effect: Effect, operationId: string) => void; discard: () => void } | undefined;
  /** The command and the name of its file, for the row of `operations`. */
  origin?: { command: string; file?: string | undefined } | undefined;
  onProgress: OnProgress;
};

export type AcceptedImport = AcceptedPlan & {
  /** The listings whose representation in the feed changes. */
  feedChanges: ListingChange[];
  /** The cursor of a reader that has read all changes up to this import. */
  resumeCursor: string;
};

export type ImportOutcome = RejectedImport | AcceptedImport;

/**
 * Imports a file. Throws `UnknownOutcomeError` if the import may have been applied, and another
 * error if it failed.
 */
export async function importListings(
  file: ListingsFile,
  options: ImportOptions,
): Promise<ImportOutcome> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const outcome = await attemptImport(file, options);
    if (outcome !== 'lost-race') return outcome;
  }
  throw new Error(
    `other imports were applied during each of the ${MAX_ATTEMPTS} attempts. Run it again later`,
  );
}

async function attemptImport(
  file: ListingsFile,
  options: ImportOptions,
): Promise<ImportOutcome | 'lost-race'> {
  const author = { who: findUser(), exportKey: findExportKey(file) };
  const stored = await readCatalogue(options.database, () => {}, author.exportKey);
  const outcome = plan(file, stored, options, author);
  if (outcome.kind === 'rejected') return outcome;
  const { effect } = outcome;
  if (!options.isDryRun) {
    const changesStore = effect.listings.length + effect.recordChanges.length > 0;
    const result = changesStore
      ? await applyWithUndo(effect, author, stored, options)
      : await confirm(stored, options);
    if (result === 'lost-race') return result;
  }
  const feedChanges = effect.listings.filter(({ latest }) => latest.changesFeed);
  // `apply` numbers these changes from `newestChange + 1` on. A reader that has read all changes up
  // to `seq` has no older removals left to skip, so `start` is the same number.
  const seq = stored.newestChange + feedChanges.length;
  const resumeCursor = changeCursor({ generation: stored.generation, seq, start: seq });
  return { ...outcome, feedChanges, resumeCursor };
}

/** Checks that no other import was applied during the reads, so that the store holds the whole file. */
async function confirm(stored: Catalogue, { database }: ImportOptions) {
  const { lastImport } = await readImportState(database);
  return lastImport === stored.lastImport ? 'confirmed' : 'lost-race';
}

/** Applies the changes. Keeps the undo file if they were applied, or may have been. */
async function applyWithUndo(
  effect: Effect,
  { exportKey }: Author,
  stored: Catalogue,
  options: ImportOptions,
) {
  const { undo, origin = { command: 'import-listings' } } = options;
  const operation = {
    ...origin,
    id: crypto.randomUUID(),
    counts: countChanges(effect),
    exportKey,
  };
  try {
    undo?.save(effect, operation.id);
    const result = await apply(effect, operation, stored, options);
    if (result === 'lost-race') undo?.discard();
    return result;
  } catch (error) {
    if (!(error instanceof UnknownOutcomeError)) undo?.discard();
    throw error;
  }
}

/** Counts the changes of each kind that has any, e.g. `{ changed: 2, amenities: 1 }`. */
function countChanges({ listings, recordChanges }: Effect): Record<string, number> {
  const nameChange = ({ reason, old }: ListingChange) => {
    if (reason === 'pruned') return 'hidden';
    if (reason === 'outside') return 'rendered again';
    return old ? 'changed' : 'added';
  };
  const kinds = [
    ...listings.map(nameChange),
    ...recordChanges.map(({ kind }) => (kind === 'location' ? 'locations' : 'amenities')),
  ];
  const groups = Map.groupBy(kinds, (kind) => kind);
  return Object.fromEntries([...groups].map(([kind, all]) => [kind, all.length]));
}
