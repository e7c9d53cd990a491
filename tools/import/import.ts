/**
 * An import brings a listings file into the store, all of it or nothing, while the service keeps serving. Its phases are
 * the steps of `attemptImport`, and the folders beside this file:
 *
 *     read     file.ts with read/: the file; store.ts: the stored records, into which read/patch.ts merges a patch
 *     plan     plan/plan.ts: the rows to write, and every problem
 *     compare  plan/compare.ts: what changes, also for listings outside the file
 *     guard    rejects an import that empties too many listings
 *     stage    write/stage.ts: writes the rows into the staging table, batch by batch
 *     apply    write/apply.ts: one transaction, which fails if another import was applied since `read`
 *     report   report/: command.ts prints the outcome, and notifies the build hook
 *
 * A dry run ends before `stage`. If another import is applied in between, the import begins again.
 */

import { changeCursor } from '../../src/properties/changes.ts';
import type { Source } from '../../src/properties/source.ts';
import type { ReadListings, WholeFile } from './file.ts';
import { compare, type Effect, type Findings } from './plan/compare.ts';
import { guardShare, type Plan, type Pruning, planImport, type RecordChange } from './plan/plan.ts';
import type { Write } from './plan/rows.ts';
import type { ImportProblem } from './problem.ts';
import { completePatch, finderOf } from './read/patch.ts';
import { type Catalogue, readCatalogue, readListings } from './store.ts';
import { apply } from './write/apply.ts';
import { stage } from './write/stage.ts';

export type Counts = { added: number; changed: number; unchanged: number };

export type AcceptedImport = {
  kind: 'accepted';
  listings: Counts;
  locations: Counts;
  amenities: Counts;
  findings: Findings;
  /** Listings that the feed shows differently now. */
  changes: number;
  /** The public slugs of these listings, former ones too. */
  slugs: ReadonlySet<string>;
  /** The cursor that a reader of all changes has afterwards. */
  resumeCursor: string;
};

export type ImportOutcome =
  | { kind: 'rejected'; problems: ImportProblem[]; findings?: Findings }
  | AcceptedImport;

export type ImportOptions = {
  database: D1Database;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  isDryRun: boolean;
  pruning?: Pruning;
  allowEmptied?: boolean;
  /** Called after each batch with the number of listings that have been through a phase. */
  onProgress: (phase: 'checked' | 'staged', done: number, total: number) => void;
};

const MAX_ATTEMPTS = 10;

/** Imports a file. Throws if the store fails: after `OutcomeUnknown`, the listings may have changed. */
export async function importListings(
  read: ReadListings,
  options: ImportOptions,
): Promise<ImportOutcome> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const outcome = await attemptImport(read, options);
    if (outcome !== 'overtaken') return outcome;
  }
  throw new Error('other imports were applied meanwhile, again and again: run it later');
}

async function attemptImport(
  read: ReadListings,
  options: ImportOptions,
): Promise<ImportOutcome | 'overtaken'> {
  const { database, isDryRun, onProgress } = options;
  // Import, 3.
  const stored = await readCatalogue(database);
  const { file, problems: mergeProblems } = await completeFile(read, stored, database);

  const plan = planImport(file, stored, options);
  // Planning takes seconds, and the database may close an idle connection meanwhile. Node notices it in this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const problems = distinct(read.problems, [...mergeProblems, ...plan.problems]);
  if (problems.length > 0) return { kind: 'rejected', problems };

  // Import, 4.
  const total = plan.rows.length + plan.unchanged.length;
  const effect = await compare(plan, stored, options, (done) => onProgress('checked', done, total));
  const { findings, writes } = effect;

  const mayEmpty = read.file.isPatch || options.allowEmptied;
  const tooMany = mayEmpty ? [] : guardShare('empties_too_many', effect.emptiedListings, stored);
  const rejected = [...effect.problems, ...tooMany];
  if (rejected.length > 0) return { kind: 'rejected', problems: rejected, findings };

  // Import, 5.
  if (!isDryRun) {
    const staged = await stage(database, plan.records, writes, stored.newestChange, (done) =>
      onProgress('staged', done, writes.length),
    );
    const ending = staged.rows > 0 && (await apply(database, staged, stored.lastImport));
    if (ending === 'overtaken') return ending;
  }
  return acceptedImport(plan, effect, stored);
}

/** Returns the file with whole records: a patch is merged into the stored records that it names. */
async function completeFile(
  { file, mustBeStored = false }: ReadListings,
  stored: Catalogue,
  database: D1Database,
): Promise<{ file: WholeFile; problems: ImportProblem[] }> {
  if (!file.isPatch) return { file, problems: [] };
  const find = finderOf(stored);
  const named = new Set(file.properties.flatMap(({ keys }) => find(keys).slice(0, 1)));
  const sources = new Map<string, Source>();
  for await (const { id, listing } of readListings(database, [...named])) sources.set(id, listing);
  return completePatch(file, stored, find, sources, mustBeStored);
}

/** Leaves out later problems of a value that has one: a cell that cannot be read is a wrong value too. */
function distinct(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const placeOf = ({ record, path }: ImportProblem) => `${record.place} ${path}`;
  const known = new Set(first.map(placeOf));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(placeOf(each)))];
}

async function acceptedImport(
  { file, records, rows, unchanged }: Plan,
  { findings, writes }: Effect,
  { heads, newestChange, generation }: Catalogue,
): Promise<AcceptedImport> {
  const changes = writes.filter(({ change }) => change.isNew);
  const seq = newestChange + changes.length;
  const resumeCursor = await changeCursor({ generation, seq, start: seq });
  const recordsOf = (each: RecordChange['kind']) => records.filter(({ kind }) => kind === each);
  const listings = rows.map(({ columns }) => ({ old: heads.get(columns.id) }));
  return {
    kind: 'accepted',
    listings: countsOf(rows.length + unchanged.length, listings),
    locations: countsOf(file.locations.length, recordsOf('location')),
    amenities: countsOf(file.amenities.length, recordsOf('amenity')),
    findings,
    changes: changes.length,
    slugs: new Set(changes.flatMap(slugsOf)),
    resumeCursor,
  };
}

/** Returns the public slugs of a changed listing, former ones too. */
function slugsOf({ listing, change }: Write): string[] {
  const last = listing.status === 'hidden' ? change.removed_slug : listing.slug;
  return [...(last === null ? [] : [last]), ...change.former_slugs];
}

function countsOf(total: number, changes: readonly { old?: unknown }[]): Counts {
  const added = changes.filter(({ old }) => old === undefined).length;
  return { added, changed: changes.length - added, unchanged: total - changes.length };
}
