/** The changes of an import: the listings to write, and what the user should know of each. Pure. */

import { formatRendering } from '../../../src/properties/render.ts';
import type { Source } from '../../../src/properties/source.ts';
import type { Operation } from '../../database/operations.ts';
import type { Catalogue } from '../catalogue/store.ts';
import { versionOf } from '../catalogue/version.ts';
import { EXPORT_AGAIN, formatLastChange } from '../merge/decide.ts';
import type { ImportProblem } from '../read/problem.ts';
import { compareListings } from './differences.ts';
import { checkSize } from './limits.ts';
import { findWarnings } from './quality.ts';
import { renderRow, resolveLatestChange } from './rows.ts';
import type {
  Author,
  Finding,
  ListingChange,
  PlannedListing,
  PlanOptions,
  RecordChange,
} from './types.ts';

/** Renders the listings that differ from the stored ones. */
export function findChanges(
  planned: readonly PlannedListing[],
  recordChanges: readonly RecordChange[],
  stored: Catalogue,
  { publicSiteUrl }: PlanOptions,
) {
  const problems: ImportProblem[] = [];
  const rendering = formatRendering(publicSiteUrl);
  const listings = planned.flatMap((each): ListingChange[] => {
    const { reason, location, version } = each;
    const status = reason === 'pruned' ? 'hidden' : each.listing.status;
    const listing = { ...each.listing, status };
    const old = stored.listings.get(listing.id);
    // A source that lacks a field of today is the same as one in which the field is empty.
    const isSame = JSON.stringify(old?.listing) === JSON.stringify(listing);
    if (isSame && old?.rendering === rendering) return [];
    const row = renderRow(listing, publicSiteUrl);
    problems.push(...checkSize(row, location));
    const { changes, emptied } = compareListings(old?.listing, listing);
    return [
      {
        ...row,
        reason,
        location,
        version,
        old,
        isOther: old === undefined || versionOf(old.listing) !== versionOf(listing),
        changes,
        latest: resolveLatestChange(old, row.columns),
        isRenamed: isRenamed(old?.listing, listing),
        emptied: old === undefined ? [] : findEmptied(old.slug, listing, emptied, recordChanges),
        warnings: findWarnings(listing, old?.listing),
      },
    ];
  });
  return { listings, problems };
}

/**
 * Finds the listings that another operation has changed since the file was made. The same person's
 * import of the same export is no other: an editor imports a corrected file again.
 */
export function findConflicts(
  listings: readonly ListingChange[],
  author: Author,
  { operations }: Catalogue,
): ImportProblem[] {
  return listings.flatMap(({ location, version, old, isOther, changes }): ImportProblem[] => {
    if (!old || !isOther || !version || version === versionOf(old.listing)) return [];
    const operation = operations.get(old.operation ?? '');
    if (isOwn(operation, author)) return [];
    const by = formatLastChange(operation);
    const message = `has changed since the file was made, ${by}: the file would change ${changes.join('; ')}`;
    return [{ location, path: '', message, remedy: EXPORT_AGAIN }];
  });
}

/** Whether it was an import of the same export by the same person. */
export function isOwn(operation: Operation | undefined, { who, exportKey }: Author): boolean {
  return exportKey !== undefined && operation?.export_id === exportKey && operation.who === who;
}

function isRenamed(old: Source | undefined, now: Source): boolean {
  if (old === undefined || now.status === 'hidden') return false;
  return (['slug', 'hid'] as const).some((key) => old[key] !== null && old[key] !== now[key]);
}

/** Includes the texts that the location and the amenities lose. */
function findEmptied(
  example: string,
  { location, amenities }: Source,
  fields: readonly string[],
  recordChanges: readonly RecordChange[],
): Finding[] {
  const shown = [location?.id, ...amenities.map(({ slug }) => slug)];
  const texts = recordChanges.filter(
    ({ key, emptied }) => emptied.length > 0 && shown.includes(key),
  );
  const causes = [
    ...fields.map((field) => `${field} of`),
    ...texts.map(({ emptied, name }) => `${emptied.join(', ')} of ${name}, shown by`),
  ];
  return causes.map((cause) => ({ cause, example }));
}
