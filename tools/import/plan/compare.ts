/** The effect of a planned import: the listings to write, and what the user should know of each. */

import type { Source } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import type { Catalogue } from '../read/store.ts';
import { findUsers, readListings } from '../read/store.ts';
import { compareListings } from './differences.ts';
import { limitSize } from './limits.ts';
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

type Replacement = Pick<ListingChange, 'old' | 'reason'> & { row: ListingRow | PlannedRow };

/** Compares the listings of a plan with the stored ones. */
export async function compare(
  plan: Plan,
  stored: Catalogue,
  options: ImportOptions,
): Promise<Effect> {
  const { rows, unchanged } = plan;
  const total = rows.length + unchanged.length;
  const records = await withoutUsed(plan, options.database);
  const warnedBefore = unchanged.filter((each) => findWarnings(each).length > 0).length;
  const effect: Effect = { records, listings: [], warnedBefore, problems: [] };
  let compared = unchanged.length;
  options.onProgress('checked', compared, total);
  for await (const each of findReplacements({ ...plan, records }, stored, options)) {
    const { row, old } = each;
    const change = resolveChange(each, records);
    effect.listings.push(change);
    if ('record' in row) {
      if (old) effect.problems.push(...findTakenIds(old.listing, row));
      if (change.isWarnedBefore) effect.warnedBefore += 1;
      compared += 1;
      options.onProgress('checked', compared, total);
    } else {
      const key = { field: 'slug', value: row.listing.slug };
      const name = { kind: 'listing', place: 'the stored listing', key } as const;
      effect.problems.push(...limitSize(row, name));
    }
  }
  return effect;
}

/** Leaves out the removal of records that listings outside the file show. */
async function withoutUsed({ records, file }: Plan, database: D1Database): Promise<RecordChange[]> {
  const inFile = new Set(file.properties.map(({ keys }) => keys.id));
  const kept: RecordChange[] = [];
  for (const each of records) {
    const users = each.now === undefined ? await findUsers(database, [each.key]) : [];
    if (users.every((id) => inFile.has(id))) kept.push(each);
  }
  return kept;
}

/** The rows of the file, and of listings that show a changed record or are pruned. */
async function* findReplacements(
  { records, known, rows, pruned }: Plan,
  { summaries }: Catalogue,
  { database, publicSiteUrl }: ImportOptions,
): AsyncGenerator<Replacement> {
  const inFile = new Map(rows.map((row) => [row.columns.id, row]));
  for (const [id, row] of inFile) {
    if (!summaries.has(id)) yield { old: undefined, row, reason: 'file' };
  }
  const users = await findUsers(
    database,
    records.map(({ key }) => key),
  );
  const hidden = new Set(pruned);
  const replaced = [...inFile.keys()].filter((id) => summaries.has(id));
  const ids = new Set([...replaced, ...[...users, ...hidden].sort()]);
  for await (const old of readListings(database, [...ids])) {
    const row = inFile.get(old.id);
    const now = row ?? renderRow(renewed(old.listing, known, hidden.has(old.id)), publicSiteUrl);
    const reason = row ? 'file' : hidden.has(old.id) ? 'pruned' : 'outside';
    yield { old, row: now, reason };
  }
}

function renewed(
  listing: Source,
  { locations, amenities }: Plan['known'],
  isPruned: boolean,
): Source {
  const { location } = listing;
  return {
    ...listing,
    status: isPruned ? 'hidden' : listing.status,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

function resolveChange(
  { old, row, reason }: Replacement,
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
      const details = [`${list === 'photos' ? 'photo' : 'video'} ${stored.url}`, 'url', 'url'];
      const path = `${list}.${index}.url`;
      return [{ record: record.name, path, code: 'id_taken', details, value }];
    }),
  );
}
