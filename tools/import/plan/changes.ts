/** Finds the listings that an import changes, with the differences and warnings for the report. */

import { formatRendering } from '../../../src/properties/render.ts';
import type { Source } from '../../../src/properties/source.ts';
import { type Author, formatLastChange, isBySomebodyElse } from '../catalogue/last-change.ts';
import type { Catalogue, StoredListing } from '../catalogue/store.ts';
import { computeVersion } from '../catalogue/version.ts';
import { EXPORT_AGAIN } from '../merge/conflicts.ts';
import type { FileLocation, ImportProblem } from '../read/problem.ts';
import { compareListings } from './differences.ts';
import type { RecordChange } from './record-changes.ts';
import { checkSize, type ListingRow, renderRow, resolveLatestChange } from './rows.ts';
import { findWarnings, type Warning } from './warnings.ts';

export type ListingChange = ListingRow & {
  location: FileLocation;
  /** The version of the listing at the export of a JSON file. */
  version?: string | undefined;
  /** `outside`: the listing is not in the file, but its location or an amenity changes. */
  reason: 'file' | 'outside' | 'pruned';
  old: StoredListing | undefined;
  /** Whether the listing is new or its version changes. */
  isChanged: boolean;
  latest: ReturnType<typeof resolveLatestChange>;
  changes: string[];
  cleared: Warning[];
  /** Whether the listing stays public and its slug or `hid` is replaced. */
  isRenamed: boolean;
  /** Warnings that do not apply to the stored listing. */
  warnings: Warning[];
};

/** A listing of the file, or outside it, as it will be after the import. */
export type PlannedListing = Pick<ListingChange, 'listing' | 'reason' | 'location' | 'version'>;

/** Renders the listings that differ from the stored ones. */
export function findChanges(
  plannedListings: readonly PlannedListing[],
  recordChanges: readonly RecordChange[],
  stored: Catalogue,
  publicSiteUrl: string,
) {
  const problems: ImportProblem[] = [];
  const rendering = formatRendering(publicSiteUrl);
  const listings = plannedListings.flatMap((plannedListing): ListingChange[] => {
    const { reason, location, version } = plannedListing;
    const status = reason === 'pruned' ? 'hidden' : plannedListing.listing.status;
    const listing = { ...plannedListing.listing, status };
    const old = stored.listings.get(listing.id);
    // A listing that was stored before a field existed has the default of that field here.
    const isSame = JSON.stringify(old?.listing) === JSON.stringify(listing);
    if (isSame && old?.rendering === rendering) return [];
    const row = renderRow(listing, publicSiteUrl);
    problems.push(...checkSize(row, location));
    const { changes, cleared } = compareListings(old?.listing, listing);
    return [
      {
        ...row,
        reason,
        location,
        version,
        old,
        isChanged: old === undefined || computeVersion(old.listing) !== computeVersion(listing),
        changes,
        latest: resolveLatestChange(old, row.columns),
        isRenamed: isRenamed(old?.listing, listing),
        cleared:
          old === undefined ? [] : findClearedFields(old.slug, listing, cleared, recordChanges),
        warnings: findWarnings(listing, old?.listing),
      },
    ];
  });
  return { listings, problems };
}

/**
 * Finds the listings of a JSON file that have changed in the store since the file was made. Changes by
 * the same person's imports of the same export do not count, because an editor may correct a file and
 * import it again.
 */
export function findConflicts(
  listings: readonly ListingChange[],
  author: Author,
  { operations }: Catalogue,
): ImportProblem[] {
  return listings.flatMap(({ location, version, old, isChanged, changes }): ImportProblem[] => {
    if (!old || !isChanged || !version || version === computeVersion(old.listing)) return [];
    const operation = operations.get(old.operation ?? '');
    if (!isBySomebodyElse(operation, author)) return [];
    const by = formatLastChange(operation);
    const message = `has changed since the file was made, ${by}: the file would change ${changes.join('; ')}`;
    return [{ location, path: '', message, remedy: EXPORT_AGAIN }];
  });
}

function isRenamed(old: Source | undefined, now: Source): boolean {
  if (old === undefined || now.status === 'hidden') return false;
  return (['slug', 'hid'] as const).some((key) => old[key] !== null && old[key] !== now[key]);
}

/** Returns a warning for each cleared field, including texts of the listing's location and amenities. */
function findClearedFields(
  example: string,
  { location, amenities }: Source,
  fields: readonly string[],
  recordChanges: readonly RecordChange[],
): Warning[] {
  const keys = [location?.id, ...amenities.map(({ slug }) => slug)];
  const texts = recordChanges.filter(
    ({ key, cleared }) => cleared.length > 0 && keys.includes(key),
  );
  const causes = [
    ...fields.map((field) => `${field} of`),
    ...texts.map(({ cleared, name }) => `${cleared.join(', ')} of ${name}, shown by`),
  ];
  return causes.map((cause) => ({ cause, example }));
}
