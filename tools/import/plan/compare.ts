/** The effect of a planned import: the rows to write, and the findings for the user. */

import type { Source } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import type { Catalogue, StoredListing } from '../read/store.ts';
import { findUsers, readListings } from '../read/store.ts';
import { compareListings, compareRecords } from './differences.ts';
import { limitSize } from './limits.ts';
import { findWarnings } from './quality.ts';
import { type ListingRow, renderRow, resolveChange } from './rows.ts';
import type {
  ChangedRecord,
  Effect,
  Findings,
  ImportOptions,
  Plan,
  PlannedRow,
  RecordChange,
} from './types.ts';

const RENAMED = 'another slug, and so another address';
const HERO_TAKEN = 'the first photo of the sheet is its hero photo now';
const PRICE_CHANGED = 'a price that changes by a factor of ten or more';
const PRICE_FACTOR = 10;

type Replacement = {
  old: StoredListing | undefined;
  row: ListingRow | PlannedRow;
  reason: ChangedRecord['reason'];
};

/** Compares the listings of a plan with the stored ones. */
export async function compare(
  plan: Plan,
  stored: Catalogue,
  options: Pick<ImportOptions, 'database' | 'publicSiteUrl' | 'onProgress'>,
): Promise<Effect> {
  const { rows, unchanged } = plan;
  const total = rows.length + unchanged.length;
  const findings: Findings = {
    added: [],
    removed: [],
    changed: [],
    emptied: new Map(),
    warnings: new Map(),
    warnedBefore: unchanged.filter((each) => findWarnings(each).length > 0).length,
  };
  const records = await withoutUsed(plan, options.database);
  const emptiedRecords = addRecords(findings, records);
  const effect: Effect = {
    records,
    writes: [],
    replaced: [],
    added: [],
    findings,
    problems: [],
    emptiedListings: 0,
  };
  let compared = unchanged.length;
  options.onProgress('checked', compared, total);
  for await (const each of findReplacements({ ...plan, records }, stored, options)) {
    if (each.reason === 'file') {
      compared += 1;
      options.onProgress('checked', compared, total);
    } else {
      const key = { field: 'slug', value: each.row.listing.slug };
      const name = { kind: 'listing', place: 'the stored listing', key } as const;
      effect.problems.push(...limitSize(each.row, name));
    }
    add(effect, each, emptiedRecords);
  }
  return effect;
}

/** Leaves out the removal of records that listings outside the file show. */
async function withoutUsed(
  { records, rows, unchanged }: Plan,
  database: D1Database,
): Promise<RecordChange[]> {
  const inFile = new Set([...rows.map(({ listing }) => listing), ...unchanged].map(({ id }) => id));
  const kept: RecordChange[] = [];
  for (const each of records) {
    const users = each.now === undefined ? await findUsers(database, [each.key]) : [];
    if (users.every((id) => inFile.has(id))) kept.push(each);
  }
  return kept;
}

/** Adds the changed records. Returns the key of each emptied one, with its head in `emptied`. */
function addRecords(
  { changed, removed, emptied }: Findings,
  records: readonly RecordChange[],
): Map<string, string> {
  const heads = new Map<string, string>();
  for (const { kind, key, old, now } of records) {
    if (old === undefined) continue;
    const name = `${kind} ${old.slug ?? key}`;
    if (now === undefined) removed.push(name);
    const differences = compareRecords(old, now);
    changed.push({ name, reason: 'shared', changes: differences.changes });
    if (differences.emptied.length === 0) continue;
    const head = `${differences.emptied.join(', ')} of ${name}, shown by`;
    heads.set(key, head);
    emptied.set(head, []);
  }
  return heads;
}

/** The rows of the file, and of listings that show a changed record or are pruned. */
async function* findReplacements(
  { records, known, rows, unchanged, pruned }: Plan,
  { summaries }: Catalogue,
  { database, publicSiteUrl }: Pick<ImportOptions, 'database' | 'publicSiteUrl'>,
): AsyncGenerator<Replacement> {
  const inFile = new Map(rows.map((row) => [row.columns.id, row]));
  for (const [id, row] of inFile)
    if (!summaries.has(id)) yield { old: undefined, row, reason: 'file' };
  const changed = records.flatMap(({ key, old }) => (old === undefined ? [] : [key]));
  const hidden = new Set(pruned);
  const outside = new Set([...(await findUsers(database, changed)), ...hidden]);
  for (const { id } of unchanged) outside.delete(id);
  const replaced = [...inFile.keys()].filter((id) => summaries.has(id));
  const ids = new Set([...replaced, ...[...outside].sort()]);
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
  isHidden: boolean,
): Source {
  const { location } = listing;
  return {
    ...listing,
    status: isHidden ? 'hidden' : listing.status,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

function add(
  effect: Effect,
  { old, row, reason }: Replacement,
  emptiedRecords: ReadonlyMap<string, string>,
): void {
  const { findings } = effect;
  const { listing } = row;
  effect.writes.push({ ...row, change: resolveChange(old, row.columns) });
  if (reason === 'file') addWarnings(findings, old?.listing, listing);
  if ('record' in row) {
    if (row.record.takesHero) append(findings.warnings, HERO_TAKEN, listing.slug);
    if (old) effect.problems.push(...mediaProblems(old.listing, listing, row.record));
  }
  if (old === undefined) {
    findings.added.push(listing.slug);
    effect.added.push(listing);
    return;
  }
  const { slug, status } = old;
  if (reason !== 'outside') effect.replaced.push(old.listing);
  const { changes, emptied } = compareListings(old.listing, listing);
  findings.changed.push({ name: slug, reason, changes });
  const shown = [listing.location?.id ?? '', ...listing.amenities.map((each) => each.slug)];
  const heads = [
    ...emptied.map((field) => `${field} of`),
    ...shown.flatMap((key) => emptiedRecords.get(key) ?? []),
  ];
  for (const head of heads) append(findings.emptied, head, slug);
  const [was, is] = [old.listing.price_from, listing.price_from];
  if (was !== null && is !== null && was !== is) {
    const factor = Math.max(was, is) / Math.min(was, is);
    if (factor >= PRICE_FACTOR) append(findings.warnings, PRICE_CHANGED, `${slug} ${was} → ${is}`);
  }
  if (status === 'hidden') return;
  if (slug !== listing.slug) append(findings.warnings, RENAMED, `${slug} → ${listing.slug}`);
  if (heads.length > 0) effect.emptiedListings += 1;
}

/** Rejects a photo or video whose id follows from its URL, if the id is of another stored one. */
function mediaProblems(old: Source, now: Source, { name, mediaIds }: PlannedRow['record']) {
  return (['photos', 'videos'] as const).flatMap((list) =>
    now[list].flatMap(({ id, url: value }, index): ImportProblem[] => {
      const stored = old[list].find((each) => each.id === id);
      if (stored === undefined || stored.url === value || mediaIds.has(id)) return [];
      const details = [`${list === 'photos' ? 'photo' : 'video'} ${stored.url}`, 'url', 'url'];
      const path = `${list}.${index}.url`;
      return [{ record: name, path, code: 'id_taken', details, value }];
    }),
  );
}

function addWarnings(findings: Findings, old: Source | undefined, now: Source): void {
  const before = new Set(old && findWarnings(old));
  const warnings = findWarnings(now);
  for (const warning of warnings) {
    if (!before.has(warning)) append(findings.warnings, warning, now.slug);
  }
  if (warnings.some((each) => before.has(each))) findings.warnedBefore += 1;
}

function append(map: Map<string, string[]>, key: string, value: string): void {
  const values = map.get(key) ?? [];
  values.push(value);
  map.set(key, values);
}
