/**
 * An import brings a listings file into the store, all of it or nothing, while the service keeps
 * serving. Its phases, by folder:
 *
 *     read/    store    the stored records
 *              read     completes the file with them
 *     plan/    plan     the rows to write, and the problems that a summary of the store shows
 *              compare  what changes, also for listings outside the file
 *              limits   reject an import that empties too many listings
 *     write/   undo     the file that undoes the import: listings-file.ts
 *              apply    the rows, in one transaction: it fails if another import was applied
 *                       since `store`
 *     report/  report   ../import-listings.ts prints the outcome, and notifies the build hook
 *
 * A dry run ends after `limits`. An overtaken import begins again at `store`. Comments such as
 * `Import, 5` number the steps of the walk in docs/explain/architecture.md.
 */

import { changeCursor } from '../../src/properties/changes.ts';
import { compare } from './plan/compare.ts';
import { checkShare } from './plan/limits.ts';
import { plan } from './plan/plan.ts';
import { findTextWarnings } from './plan/quality.ts';
import type { Effect, ImportOptions, ImportOutcome } from './plan/types.ts';
import type { ImportProblem } from './read/problem.ts';
import { type CompleteFile, completeFromStore } from './read/read.ts';
import { type Catalogue, readCatalogue } from './read/store.ts';
import type { FileForm, ListingsFile } from './read/types.ts';
import { apply, OutcomeUnknown } from './write/apply.ts';

const MAX_ATTEMPTS = 10;

const LISTING_KINDS = { pruned: 'hidden', outside: 'rendered again', file: undefined } as const;

/** Throws if the store fails, or the outcome is not known. */
export async function importListings(
  file: ListingsFile,
  options: ImportOptions,
): Promise<ImportOutcome> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const outcome = await attemptImport(file, options);
    if (outcome !== 'overtaken') return outcome;
  }
  throw new Error('other imports were applied meanwhile, again and again: run it later');
}

async function attemptImport(
  file: ListingsFile,
  options: ImportOptions,
): Promise<ImportOutcome | 'overtaken'> {
  // Import, 3.
  const stored = await readCatalogue(options.database);
  const complete = await completeFromStore(file, stored, options.database);
  const planned = plan(complete, stored, options);
  if (planned.problems.length > 0) {
    const warnings = planned.rows.flatMap(({ listing }) => findTextWarnings(listing));
    return { kind: 'rejected', problems: planned.problems, warnings };
  }

  // Import, 4.
  const effect = await compare(planned, stored, options);
  const { listings } = effect;
  const problems = [
    ...(options.overwrite ? [] : effect.conflicts),
    ...effect.problems,
    ...checkShares(effect, file.form, stored, options),
  ];
  if (problems.length > 0) return { kind: 'rejected', problems, effect };

  // Import, 5.
  const feedChanges = listings.filter(({ latest }) => latest.changesFeed);
  // `apply` numbers these from `newestChange + 1` on. The cursor is for a reader of all changes up
  // to `seq`, which has no older removals left to skip (`start`).
  const seq = stored.newestChange + feedChanges.length;
  const { generation } = stored;
  const resumeCursor = await changeCursor({ generation, seq, start: seq });
  if (!options.isDryRun && listings.length + effect.recordChanges.length > 0) {
    if ((await applyWithUndo(effect, complete, stored, options)) === 'overtaken')
      return 'overtaken';
  }
  return { kind: 'accepted', file: complete, effect, feedChanges, resumeCursor };
}

/** Rejects a file that empties or renames more of the public listings than is usual. */
function checkShares(
  { listings }: Effect,
  form: FileForm,
  stored: Catalogue,
  { allowEmptied, allowRenamed }: ImportOptions,
): ImportProblem[] {
  const changes = listings.filter(({ old }) => old !== undefined && old.status !== 'hidden');
  const emptied = changes.filter((each) => each.emptied.length > 0);
  const renamed = (['slug', 'hid'] as const).flatMap((field) => {
    const { length } = changes.filter(({ renamed }) => renamed.includes(field));
    // A column that is sorted alone changes two at least.
    return length < 2 ? [] : checkShare('renames_too_many', length, stored, field);
  });
  return [
    ...(form === 'patch' || allowEmptied
      ? []
      : checkShare('empties_too_many', emptied.length, stored)),
    ...(allowRenamed ? [] : renamed),
  ];
}

/** The file that undoes the import stays if the import was applied, or may have been. */
async function applyWithUndo(
  effect: Effect,
  { exportId }: CompleteFile,
  stored: Catalogue,
  options: ImportOptions,
) {
  const { undo, origin = { command: 'import-listings' } } = options;
  const operation = {
    ...origin,
    id: crypto.randomUUID(),
    counts: countChanges(effect),
    exportId,
  };
  try {
    undo?.save(effect, operation.id);
    const result = await apply(effect, operation, stored, options);
    if (result === 'overtaken') undo?.discard();
    return result;
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) undo?.discard();
    throw error;
  }
}

/** Counts changes by their kind, without the kinds that have none. */
function countChanges({ listings, recordChanges }: Effect): Record<string, number> {
  const kinds = [
    ...listings.map(({ reason, old }) => LISTING_KINDS[reason] ?? (old ? 'changed' : 'added')),
    ...recordChanges.map(({ kind }) => (kind === 'location' ? 'locations' : 'amenities')),
  ];
  const groups = Map.groupBy(kinds, (kind) => kind);
  return Object.fromEntries([...groups].map(([kind, all]) => [kind, all.length]));
}
