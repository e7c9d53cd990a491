/**
 * An import brings a listings file into the store, all of it or nothing, while the service keeps serving. Its phases:
 *
 *     read     store.ts: the stored records; patch.ts: merges a patch into them
 *     plan     plan.ts: the rows to write, and every problem
 *     compare  effect.ts: what changes, also for listings outside the file
 *     stage    apply.ts: writes the rows into the staging table, batch by batch
 *     apply    apply.ts: one transaction, which fails if another import was applied since `read`
 *     report   report.ts, notify.ts
 *
 * A dry run ends before `stage`. If another import is applied in between, the import begins again.
 */

import { changeCursor } from '../../src/properties/changes.ts';
import type { Source } from '../../src/properties/source.ts';
import { apply, Overtaken, stage, type Write } from './apply.ts';
import { compare, type Effect, type Findings } from './effect.ts';
import type { ReadListings, WholeFile } from './file.ts';
import { completePatch, finderOf } from './patch.ts';
import { guardShare, type Plan, type Pruning, planImport, type RecordChange } from './plan.ts';
import type { ImportProblem } from './problem.ts';
import { type Catalogue, readCatalogue, readListings } from './store.ts';

/** The records of one kind in the file. */
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

/** An import that others overtake this often gives up. */
const MAX_ATTEMPTS = 10;

/** Imports a file. Throws if the store fails: after `OutcomeUnknown`, the listings may have changed. */
export async function importListings(
  read: ReadListings,
  options: ImportOptions,
): Promise<ImportOutcome> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptImport(read, options);
    } catch (error) {
      if (!(error instanceof Overtaken) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function attemptImport(read: ReadListings, options: ImportOptions): Promise<ImportOutcome> {
  const { database, onProgress } = options;
  // Import, 3.
  const stored = await readCatalogue(database);
  const { file, problems: mergeProblems } = await readWhole(read, stored, database);

  const plan = planImport(file, stored, options);
  // Planning takes seconds, and the database may close an idle connection meanwhile. Node notices it in this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  // A cell that cannot be read is a wrong value of its record too.
  const known = new Set(read.problems.map(({ record, path }) => `${record.place} ${path}`));
  const later = [...mergeProblems, ...plan.problems];
  const isNew = ({ record, path }: ImportProblem) =>
    path === '' || !known.has(`${record.place} ${path}`);
  const problems = [...read.problems, ...later.filter(isNew)];
  if (problems.length > 0) return { kind: 'rejected', problems };

  // Import, 4.
  const total = plan.rows.length + plan.unchanged.length;
  const effect = await compare(plan, stored, options, (done) => {
    if (total > 0) onProgress('checked', done, total);
  });

  const { findings, writes, emptiedListings } = effect;
  const isFree = read.file.isPatch || options.allowEmptied;
  const emptied = isFree ? [] : guardShare('empties_too_many', emptiedListings, stored);
  const rejected = [...effect.problems, ...emptied];
  if (rejected.length > 0) return { kind: 'rejected', problems: rejected, findings };

  // Import, 5.
  if (!options.isDryRun) {
    const staged = await stage(database, plan, writes, stored, (done) =>
      onProgress('staged', done, writes.length),
    );
    if (staged.rows > 0) await apply(database, staged, stored.lastImport);
  }
  return reportOf(plan, effect, stored);
}

/** Merges a patch into the stored records that it names. */
async function readWhole(
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

async function reportOf(
  { file, records, rows, unchanged }: Plan,
  { findings, writes }: Effect,
  { heads, newestChange, generation }: Catalogue,
): Promise<ImportOutcome> {
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
