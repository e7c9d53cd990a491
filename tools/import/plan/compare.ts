/** The effect of a planned import: the listings to write, and what the user should know of each. */

import type { Source } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import type { Catalogue, StoredListing } from '../read/store.ts';
import { findListingsUsing, readListings } from '../read/store.ts';
import { compareListings } from './differences.ts';
import { checkSize } from './limits.ts';
import { compareWarnings, findWarnings } from './quality.ts';
import { type ListingRow, renderRow, resolveLatestChange } from './rows.ts';
import type {
  Effect,
  ImportOptions,
  ListingChange,
  Plan,
  PlannedRow,
  RecordChange,
} from './types.ts';

/** Compares the listings of a plan with the stored ones. */
export async function compare(
  plan: Plan,
  { summaries }: Catalogue,
  { database, publicSiteUrl, onProgress }: ImportOptions,
): Promise<Effect> {
  const { rows, unchanged, known } = plan;
  const records = await dropUsedRemovals(plan, database);
  const problems: ImportProblem[] = [];
  const listings = rows
    .filter(({ columns }) => !summaries.has(columns.id))
    .map((row) => resolveChange('file', undefined, row, records));
  const rowsById = new Map(rows.map((row) => [row.columns.id, row]));
  const replaced = [...rowsById.keys()].filter((id) => summaries.has(id));
  const users = await findListingsUsing(
    database,
    records.map(({ key }) => key),
  );
  const pruned = new Set(plan.pruned);
  const ids = new Set([...replaced, ...[...users, ...pruned].sort()]);
  const total = unchanged.length + listings.length + ids.size;
  onProgress('checked', unchanged.length + listings.length, total);
  for await (const old of readListings(database, [...ids])) {
    const row = rowsById.get(old.id);
    if (row) {
      problems.push(...findTakenIds(old.listing, row));
      listings.push(resolveChange('file', old, row, records));
    } else {
      const reason = pruned.has(old.id) ? 'pruned' : 'outside';
      const now = renderRow(renewListing(old.listing, known, reason), publicSiteUrl);
      const key = { field: 'slug', value: old.slug };
      problems.push(...checkSize(now, { kind: 'listing', place: 'the stored listing', key }));
      listings.push(resolveChange(reason, old, now, records));
    }
    onProgress('checked', unchanged.length + listings.length, total);
  }
  const ofFile = listings.filter(({ reason }) => reason === 'file');
  const warnedBefore =
    ofFile.filter((each) => each.isWarnedBefore).length +
    unchanged.filter((each) => findWarnings(each).length > 0).length;
  return { records, listings, warnedBefore, problems };
}

/** Drops the removal of records that listings outside the file show. */
async function dropUsedRemovals(
  { records, file }: Plan,
  database: D1Database,
): Promise<RecordChange[]> {
  const fileIds = new Set(file.properties.map(({ keys }) => keys.id));
  const kept: RecordChange[] = [];
  for (const each of records) {
    const users = each.now === undefined ? await findListingsUsing(database, [each.key]) : [];
    if (users.every((id) => fileIds.has(id))) kept.push(each);
  }
  return kept;
}

/** Returns a listing outside the file as it will be. */
function renewListing(
  listing: Source,
  { locations, amenities }: Plan['known'],
  reason: 'outside' | 'pruned',
): Source {
  const { location } = listing;
  return {
    ...listing,
    status: reason === 'pruned' ? 'hidden' : listing.status,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

function resolveChange(
  reason: ListingChange['reason'],
  old: StoredListing | undefined,
  row: ListingRow | PlannedRow,
  records: readonly RecordChange[],
): ListingChange {
  const { listing, columns } = row;
  const { changes, emptied } = compareListings(old?.listing, listing);
  const shown = [listing.location?.id, ...listing.amenities.map(({ slug }) => slug)];
  const causes = [
    ...emptied.map((field) => `${field} of`),
    ...records
      .filter((each) => each.emptied.length > 0 && shown.includes(each.key))
      .map((each) => `${each.emptied.join(', ')} of ${each.name}, shown by`),
  ];
  const takesHero = 'record' in row && row.record.takesHero === true;
  return {
    ...{ listing, columns, reason, old, changes },
    latest: resolveLatestChange(old, columns),
    emptied: old === undefined ? [] : causes.map((cause) => ({ cause, example: old.slug })),
    ...compareWarnings(old?.listing, listing, takesHero),
  };
}

/** Rejects a photo or video whose id follows from its URL, if the id is of another stored one. */
function findTakenIds(old: Source, { listing, record }: PlannedRow): ImportProblem[] {
  return (['photos', 'videos'] as const).flatMap((list) =>
    listing[list].flatMap(({ id, url: value }, index): ImportProblem[] => {
      const stored = old[list].find((each) => each.id === id);
      if (stored === undefined || stored.url === value || record.mediaIds.has(id)) return [];
      const holder = `${list === 'photos' ? 'photo' : 'video'} ${stored.url}`;
      const details = { holder, idField: 'url', key: 'url' };
      const path = `${list}.${index}.url`;
      return [{ record: record.name, path, code: 'id_taken', details, value }];
    }),
  );
}
