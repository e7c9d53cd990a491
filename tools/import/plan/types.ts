/** An import from its plan to its outcome. */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import type { CompleteFile } from '../read/read.ts';
import type { StoredListing } from '../read/store.ts';
import type { Differences } from './differences.ts';
import type { ListingRow, resolveLatestChange } from './rows.ts';

/** The fate of public listings outside the file. `some`: at most a fifth is hidden. */
export type Pruning = 'none' | 'some' | 'all';

export type ImportOptions = {
  database: D1Database;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  isDryRun: boolean;
  pruning?: Pruning;
  allowEmptied?: boolean;
  /** The file that undoes the import, saved before the import changes something. */
  undo?: { save: (effect: Effect) => void; discard: () => void } | undefined;
  /** Called after each batch with the number of listings that have been through a phase. */
  onProgress: (phase: 'checked' | 'staged', done: number, total: number) => void;
};

/** A location or amenity that an import changes. */
export type RecordChange = Differences & {
  kind: 'location' | 'amenity';
  /** The id of the location, or the slug of the amenity. */
  key: string;
  /** `location mallorca` */
  name: string;
  /** undefined: the store lacks the record. */
  old: Location | Amenity | undefined;
  /** undefined: the import removes the record. */
  now: Location | Amenity | undefined;
};

/**
 * The cause, e.g. `title.fr of`, `label.es of amenity wifi, shown by` or `public without a photo:`,
 * and the slug of the listing, perhaps with its change.
 */
export type Finding = { cause: string; example: string };

/** A listing that an import writes: of the `file`, `outside` of it, or `pruned`. */
export type ListingChange = ListingRow & {
  reason: 'file' | 'outside' | 'pruned';
  old: StoredListing | undefined;
  latest: ReturnType<typeof resolveLatestChange>;
  changes: string[];
  emptied: Finding[];
  /** The warnings that the import causes. */
  warnings: Finding[];
  /** Whether it has a warning that is not new. */
  isWarnedBefore: boolean;
};

export type Effect = {
  recordChanges: RecordChange[];
  listings: ListingChange[];
  /** The number of listings of the file with a warning that is not new. */
  warnedBefore: number;
  problems: ImportProblem[];
};

export type AcceptedImport = {
  kind: 'accepted';
  file: CompleteFile;
  effect: Effect;
  /** The listings that the feed shows otherwise now. */
  shown: ListingChange[];
  /** The cursor that a reader of all changes has afterwards. */
  resumeCursor: string;
};

export type ImportOutcome =
  | { kind: 'rejected'; problems: ImportProblem[]; effect?: Effect }
  | AcceptedImport;
