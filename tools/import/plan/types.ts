/** An import from its plan to its outcome. */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import type { FileRecord, WholeFile } from '../read/types.ts';
import type { ListingRow, Write } from './rows.ts';

/** The fate of public listings outside the file. `some`: at most a fifth is hidden. */
export type Pruning = 'none' | 'some' | 'all';

export type ImportOptions = {
  database: D1Database;
  /** Has no trailing slash. */
  publicSiteUrl: string;
  isDryRun: boolean;
  pruning?: Pruning;
  allowEmptied?: boolean;
  /** Keeps the file that undoes the import, before the import changes something. */
  saveUndo?: ((pieces: Iterable<string>) => void) | undefined;
  /** Called after each batch with the number of listings that have been through a phase. */
  onProgress: (phase: 'checked' | 'staged', done: number, total: number) => void;
};

export type PlannedRow = ListingRow & { record: FileRecord<unknown> };

/** A location or amenity that an import changes. `old` is undefined if the store lacks it. */
export type RecordChange = {
  kind: 'location' | 'amenity';
  /** The id of the location, or the slug of the amenity. */
  key: string;
  old: Location | Amenity | undefined;
  /** undefined: the import removes the record. */
  now: Location | Amenity | undefined;
};

/** The locations (by id and by slug) and amenities (by slug) that listings may name. */
export type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

export type Plan = {
  file: WholeFile;
  problems: ImportProblem[];
  known: Known;
  records: RecordChange[];
  /** The rows of listings that the store lacks, or has from another source or other rules. */
  rows: PlannedRow[];
  unchanged: Source[];
  /** The ids of the public listings that `--prune` hides. */
  pruned: string[];
};

/** e.g. `price_from 118000 → 121000` of `casa-marea` */
export type ChangedRecord = {
  /** The slug of a listing, or `location mallorca`. */
  name: string;
  /** A listing of the `file`, `outside` of it, or `pruned`; `shared`: a location or amenity. */
  reason: 'file' | 'shared' | 'outside' | 'pruned';
  changes: string[];
};

export type Findings = {
  added: string[];
  /** `location mallorca` */
  removed: string[];
  changed: ChangedRecord[];
  /** `title.fr of`, or `label.es of amenity wifi, shown by` → the slugs of listings. */
  emptied: Map<string, string[]>;
  /** A warning that the import causes → the slugs of its listings. */
  warnings: Map<string, string[]>;
  /** The listings of the file whose warnings are not new. */
  warnedBefore: number;
};

export type Effect = {
  records: RecordChange[];
  writes: Write[];
  /** The listings that the file changes or prunes, as they are stored before. */
  replaced: Source[];
  added: Source[];
  findings: Findings;
  problems: ImportProblem[];
  /** The number of public listings of which something is emptied. */
  emptiedListings: number;
};

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
