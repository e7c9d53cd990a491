/**
 * An import brings a listings file into the store, all of it or nothing, while the service keeps
 * serving. Its phases are in folders of the same order:
 *
 *     read/    read     the stored records; completes the file with them
 *     plan/    plan     the rows to write, and every problem
 *              compare  what changes, also for listings outside the file
 *              limits   reject an import that empties too many listings
 *     write/   undo     the file that undoes the import
 *              stage    writes the rows into the staging table, in batches
 *              apply    one transaction, which fails if another import was applied since `read`
 *     report/  report   command.ts prints the outcome, and notifies the build hook
 *
 * A dry run ends after `limits`. An overtaken import begins again at `read`.
 */

import { changeCursor } from '../../src/properties/changes.ts';
import { compare } from './plan/compare.ts';
import { limitShare } from './plan/limits.ts';
import { plan } from './plan/plan.ts';
import type { Write } from './plan/rows.ts';
import type {
  AcceptedImport,
  Counts,
  Effect,
  ImportOptions,
  ImportOutcome,
  Plan,
  RecordChange,
} from './plan/types.ts';
import { read } from './read/read.ts';
import type { Catalogue } from './read/store.ts';
import type { ReadableFile } from './read/types.ts';
import { apply } from './write/apply.ts';
import { stage } from './write/stage.ts';
import { undoFile } from './write/undo.ts';

const MAX_ATTEMPTS = 10;

/** Imports a file. Throws if the store fails, or its outcome is not known. */
export async function importListings(
  input: ReadableFile,
  options: ImportOptions,
): Promise<ImportOutcome> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const outcome = await attemptImport(input, options);
    if (outcome !== 'overtaken') return outcome;
  }
  throw new Error('other imports were applied meanwhile, again and again: run it later');
}

async function attemptImport(
  input: ReadableFile,
  options: ImportOptions,
): Promise<ImportOutcome | 'overtaken'> {
  // Import, 3.
  const { stored, ...records } = await read(input, options.database);
  const planned = plan(records, stored, options);
  if (planned.problems.length > 0) return { kind: 'rejected', problems: planned.problems };

  // Import, 4.
  const effect = await compare(planned, stored, options);
  const { problems } = effect;
  if (!input.file.isPatch && !options.allowEmptied) {
    problems.push(...limitShare('empties_too_many', effect.emptiedListings, stored));
  }
  if (problems.length > 0) return { kind: 'rejected', problems, findings: effect.findings };

  // Import, 5.
  if (!options.isDryRun) {
    if (effect.writes.length + effect.records.length > 0) options.saveUndo?.(undoFile(effect));
    const staged = await stage(effect, stored.newestChange, options);
    const ending = await apply(options.database, staged, stored.lastImport, isShown(effect));
    if (ending === 'overtaken') return ending;
  }
  return acceptedImport(planned, effect, stored);
}

/** Reports whether a response of the feed changes. Locations have a list of their own. */
function isShown({ records, writes }: Effect): boolean {
  return (
    records.some(({ kind }) => kind === 'location') || writes.some((each) => each.change.isNew)
  );
}

async function acceptedImport(
  { file, rows, unchanged }: Plan,
  { findings, records, writes }: Effect,
  { summaries, newestChange, generation }: Catalogue,
): Promise<AcceptedImport> {
  const changes = writes.filter(({ change }) => change.isNew);
  const seq = newestChange + changes.length;
  const resumeCursor = await changeCursor({ generation, seq, start: seq });
  const recordsOf = (each: RecordChange['kind']) =>
    records.filter(({ kind, now }) => kind === each && now !== undefined);
  const listings = rows.map(({ columns }) => ({ old: summaries.get(columns.id) }));
  return {
    kind: 'accepted',
    listings: countChanges(rows.length + unchanged.length, listings),
    locations: countChanges(file.locations.length, recordsOf('location')),
    amenities: countChanges(file.amenities.length, recordsOf('amenity')),
    findings,
    changes: changes.length,
    slugs: new Set(changes.flatMap(listSlugs)),
    resumeCursor,
  };
}

/** Returns the public slugs of a changed listing, former ones too. */
function listSlugs({ listing, change }: Write): string[] {
  const last = listing.status === 'hidden' ? change.removed_slug : listing.slug;
  return [...(last === null ? [] : [last]), ...change.former_slugs];
}

function countChanges(total: number, changes: readonly { old?: unknown }[]): Counts {
  const added = changes.filter(({ old }) => old === undefined).length;
  return { added, changed: changes.length - added, unchanged: total - changes.length };
}
