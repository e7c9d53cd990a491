/** An import from its plan to its outcome. */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import type { OnProgress, StoredListing } from '../catalogue/store.ts';
import type { FileLocation, ImportProblem } from '../read/problem.ts';
import type { ImportedRow } from '../read/types.ts';
import type { CompleteFile } from './complete.ts';
import type { Differences } from './differences.ts';
import type { ListingRow, resolveLatestChange } from './rows.ts';

export type PlanOptions = {
  /** Has no trailing slash. */
  publicSiteUrl: string;
  /** Whether public listings that the file does not name are hidden. */
  prunes?: boolean;
  /** Whether more listings than usual may be hidden, emptied or renamed. */
  many?: boolean;
  /** Whether a listing that has changed since the file was made is replaced, with a warning. */
  overwrite?: boolean;
};

/** Who imports, and a hash of the id of the export that the file was made from. */
export type Author = { who: string; exportKey: string | undefined };

export type ImportOptions = PlanOptions & {
  database: D1Database;
  isDryRun: boolean;
  /** The file that undoes the import, saved before the import changes something. */
  undo?: { save: (effect: Effect, operationId: string) => void; discard: () => void } | undefined;
  /** For the record of the operation. */
  origin?: { command: string; file?: string | undefined } | undefined;
  onProgress: OnProgress;
};

export type RecordChange = Differences & {
  kind: 'location' | 'amenity';
  /** A location's id, or an amenity's slug. */
  key: string;
  /** `location mallorca` */
  name: string;
  /** undefined: the store lacks the record. */
  old: Location | Amenity | undefined;
  /** undefined: the import removes the record. */
  now: Location | Amenity | undefined;
};

/**
 * The cause, e.g. `title.fr of`, `label.es of amenity wifi, shown by` or `public without a photo:`.
 * The example is the slug of a listing, perhaps with its change.
 */
export type Finding = { cause: string; example: string };

export type ListingChange = ListingRow & {
  location: FileLocation;
  /** Of its record in JSON: the `versionOf` the listing that the file was made from. */
  version?: string | undefined;
  /** `outside`: not in the file, but its location or amenities change. */
  reason: 'file' | 'outside' | 'pruned';
  old: StoredListing | undefined;
  /** Whether it is new, or has another version. */
  isOther: boolean;
  latest: ReturnType<typeof resolveLatestChange>;
  changes: string[];
  emptied: Finding[];
  /** Whether it stays public and loses its slug or its `hid`. */
  isRenamed: boolean;
  /** Only new ones. */
  warnings: Finding[];
};

export type Effect = {
  recordChanges: RecordChange[];
  listings: ListingChange[];
  /** One for each listing that has changed since the file was made, and would change again. */
  conflicts: ImportProblem[];
  /** What a workbook says, beside the changes. */
  importedRows: readonly ImportedRow[];
};

type RejectedImport = { kind: 'rejected'; problems: ImportProblem[]; effect?: Effect };

export type AcceptedPlan = { kind: 'accepted'; file: CompleteFile; effect: Effect };

export type Plan = RejectedImport | AcceptedPlan;

export type AcceptedImport = AcceptedPlan & {
  /** The listings that change in the feed. */
  feedChanges: ListingChange[];
  /** The cursor that a reader of all changes has afterwards. */
  resumeCursor: string;
};

export type ImportOutcome = RejectedImport | AcceptedImport;

/** Locations by id and by slug, and amenities by slug. */
export type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

/** A listing of the file, or one outside it that changes too, as it will be. */
export type PlannedListing = Pick<ListingChange, 'listing' | 'reason' | 'location' | 'version'>;
