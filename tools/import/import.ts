/**
 * Loads a listings file into the store, all of it or nothing, while the service keeps serving. The
 * folders in the order in which an import needs them:
 *
 *     read/        the bytes of a file            → records of JSON, or rows of a workbook
 *     catalogue/   the database                   → stored listings, their schemas and versions
 *     match/       rows, stored listings          → the stored record of each row
 *     merge/       exported, file, store          → an outcome for each value, and patches
 *     plan/        records or patches, catalogue  → what the import would change, or problems
 *     write/       the changes                    → an undo file, then one transaction
 *     report/      the outcome                    → output, and a call of the build hook
 *
 * A dry run ends after `plan`. An import that lost a race begins again with the catalogue.
 * docs/explain/architecture.md walks through the functions.
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

const LISTING_KINDS = { pruned: 'hidden', outside: 'rendered again', file: undefined } as const;

export type ImportOptions = PlanOptions & {
  database: D1Database;
  isDryRun: boolean;
  /** The file that undoes the import, saved before the import changes something. */
  undo?: { save: (effect: Effect, operationId: string) => void; discard: () => void } | undefined;
  /** The command and its file, which the operation records. */
  origin?: { command: string; file?: string | undefined } | undefined;
  onProgress: OnProgress;
};

export type AcceptedImport = AcceptedPlan & {
  /** The listings that change in the feed. */
  feedChanges: ListingChange[];
  /** The cursor that a reader of all changes has afterwards. */
  resumeCursor: string;
};

export type ImportOutcome = RejectedImport | AcceptedImport;

/** Throws if the store fails, or the outcome is not known. */
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
  const planned = plan(file, stored, options, author);
  if (planned.kind === 'rejected') return planned;
  const { effect } = planned;
  if (!options.isDryRun) {
    const isNew = effect.listings.length + effect.recordChanges.length > 0;
    const result = isNew
      ? await applyWithUndo(effect, author, stored, options)
      : await confirm(stored, options);
    if (result === 'lost-race') return result;
  }
  const feedChanges = effect.listings.filter(({ latest }) => latest.changesFeed);
  // `apply` numbers these from `newestChange + 1` on. The cursor is for a reader of all changes up
  // to `seq`, which has no older removals left to skip (`start`).
  const seq = stored.newestChange + feedChanges.length;
  const resumeCursor = changeCursor({ generation: stored.generation, seq, start: seq });
  return { ...planned, feedChanges, resumeCursor };
}

/** The store holds all of the file if no other import was applied during the reads. */
async function confirm(stored: Catalogue, { database }: ImportOptions) {
  const { lastImport } = await readImportState(database);
  return lastImport === stored.lastImport ? 'confirmed' : 'lost-race';
}

/** The file that undoes the import stays if the import was applied, or may have been. */
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

/** Counts changes by their kind. Kinds without a change are left out. */
function countChanges({ listings, recordChanges }: Effect): Record<string, number> {
  const kinds = [
    ...listings.map(({ reason, old }) => LISTING_KINDS[reason] ?? (old ? 'changed' : 'added')),
    ...recordChanges.map(({ kind }) => (kind === 'location' ? 'locations' : 'amenities')),
  ];
  const groups = Map.groupBy(kinds, (kind) => kind);
  return Object.fromEntries([...groups].map(([kind, all]) => [kind, all.length]));
}
