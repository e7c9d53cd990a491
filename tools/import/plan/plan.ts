/**
 * Plans an import, which either changes the catalogue or is rejected. The plan depends only on the file,
 * the catalogue, the options and the author.
 */

import type { Source } from '../../../src/properties/source.ts';
import type { Author } from '../catalogue/last-change.ts';
import type { FileListing } from '../catalogue/records.ts';
import { type Catalogue, findUsers } from '../catalogue/store.ts';
import { type ImportedRow, toAddedRow } from '../merge/imported-rows.ts';
import type { ListingsFile } from '../read/file.ts';
import { type ImportProblem, mergeProblems } from '../read/problem.ts';
import { findChanges, findConflicts, type ListingChange, type PlannedListing } from './changes.ts';
import { checkCatalogue } from './check.ts';
import { type CompleteFile, completeRecords } from './complete-records.ts';
import { checkShare, listPublicIds } from './limits.ts';
import { divideUnnamed } from './prune.ts';
import { findRecordChanges, type RecordChange, type References } from './record-changes.ts';

export type PlanOptions = {
  /** The URL of the site, without a trailing slash. */
  publicSiteUrl: string;
  /** Whether to hide the public listings that the file does not name. */
  prunes?: boolean;
  /** Whether the import may hide, clear or rename more listings than usual. */
  many?: boolean;
  /** Whether the import replaces what has changed since the file was made, with a warning. */
  overwrite?: boolean;
};

/** The changes of an import, or the changes that a rejected import would have made. */
export type Effect = {
  recordChanges: RecordChange[];
  listings: ListingChange[];
  /**
   * Changes in the store since the file was made that the import would overwrite: one item for each value
   * of a workbook, or for each listing of a JSON file.
   */
  conflicts: ImportProblem[];
  /** The values of a workbook that are not applied because of conflicts. A dry run lists them. */
  rejectedValues: readonly string[];
  /** Rows of the file for `imported_rows`, for this person's next import of the same export. */
  importedRows: readonly ImportedRow[];
};

export type RejectedImport = { kind: 'rejected'; problems: ImportProblem[]; effect?: Effect };

export type AcceptedPlan = { kind: 'accepted'; file: CompleteFile; effect: Effect };

export type Plan = RejectedImport | AcceptedPlan;

export function plan(
  input: ListingsFile,
  stored: Catalogue,
  options: PlanOptions,
  author: Author,
): Plan {
  const { prunes = false, overwrite = false, many = false } = options;
  const file = completeRecords(input, stored, { ...author, overwrite });
  const { properties, removed } = file;
  const locations = findRecordChanges('location', stored.locations, removed, file.locations);
  const amenities = findRecordChanges('amenity', stored.amenities, removed, file.amenities);
  const references: References = { locations: new Map(locations.now), amenities: amenities.now };
  for (const location of locations.now.values()) {
    if (location.slug !== null) references.locations.set(location.slug, location);
  }
  const recordChanges = [...locations.changes, ...amenities.changes];
  const namedListings = properties.filter(({ isAbsent }) => !isAbsent);
  const namedIds = new Set(namedListings.map(({ keys }) => keys.id));
  const unnamed = listPublicIds(stored).filter((id) => !namedIds.has(id));
  const { hidden, remarks } = overwrite
    ? { hidden: unnamed, remarks: [] }
    : divideUnnamed(unnamed, file.exportId, stored, author);
  const pruned = new Set(prunes ? hidden : []);
  const listings = properties.flatMap(({ value, ...record }): PlannedListing[] => {
    if (value === undefined) return [];
    const listing = resolveSource(value, references);
    return [{ ...record, listing, reason: pruned.has(listing.id) ? 'pruned' : 'file' }];
  });
  const outside = listOutside(listings, pruned, recordChanges, references, stored);

  const { listings: changes, problems: sizeProblems } = findChanges(
    [...listings, ...outside],
    recordChanges,
    stored,
    options.publicSiteUrl,
  );
  const problems = mergeProblems(file.problems, [
    ...checkCatalogue(file, stored, references),
    ...sizeProblems,
  ]);
  if (problems.length > 0) return { kind: 'rejected', problems };
  const { sortedColumns = [], secondCopy = [], rejectedValues = [] } = file;
  const conflicts = [...(file.conflicts ?? []), ...findConflicts(changes, author, stored)];
  const overridable = [
    ...(overwrite ? [] : [...secondCopy, ...conflicts]),
    ...(many ? [] : [...sortedColumns, ...checkShare(changes, file.form, stored)]),
  ];
  const importedRows =
    file.importedRows ?? changes.flatMap((change) => listAddedRow(change, author));
  const effect = { listings: changes, recordChanges, conflicts, rejectedValues, importedRows };
  if (overridable.length > 0) return { kind: 'rejected', problems: overridable, effect };
  const notes = [...(file.notes ?? []), ...(prunes ? remarks : [])];
  return { kind: 'accepted', file: { ...file, notes }, effect };
}

function listAddedRow({ old, listing }: ListingChange, author: Author): ImportedRow[] {
  return old === undefined ? toAddedRow(listing.id, author) : [];
}

/** Lists stored listings outside the file that use a changed location or amenity, or that are pruned. */
function listOutside(
  listings: readonly PlannedListing[],
  pruned: ReadonlySet<string>,
  recordChanges: readonly RecordChange[],
  { locations, amenities }: References,
  stored: Catalogue,
): PlannedListing[] {
  const idsInFile = new Set(listings.map(({ listing }) => listing.id));
  const users = recordChanges.flatMap(({ key }) => findUsers(stored, key).map(({ id }) => id));
  const ids = [...new Set([...users, ...pruned])].filter((id) => !idsInFile.has(id));
  return ids.flatMap((id): PlannedListing[] => {
    const source = stored.listings.get(id)?.listing;
    if (source === undefined) return [];
    const listing = {
      ...source,
      location: source.location && (locations.get(source.location.id) ?? source.location),
      amenities: source.amenities.map((amenity) => amenities.get(amenity.slug) ?? amenity),
    };
    const key = { field: 'slug', value: source.slug };
    const location = { kind: 'listing', position: 'the stored listing', key } as const;
    return [{ location, listing, reason: pruned.has(id) ? 'pruned' : 'outside' }];
  });
}

function resolveSource(listing: FileListing, { locations, amenities }: References): Source {
  const { location_id, location = location_id, hero_photo, amenities: slugs, ...fields } = listing;
  return {
    ...fields,
    ...(hero_photo !== undefined && {
      hero_photo_id: fields.photos.find(({ url }) => url === hero_photo)?.id ?? null,
    }),
    location: locations.get(location ?? '') ?? null,
    amenities: slugs.flatMap((slug) => amenities.get(slug) ?? []),
  };
}
