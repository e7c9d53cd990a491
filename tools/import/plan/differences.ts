/** Describes the differences between two versions of a record, and lists the cleared fields. */

import { mapLocales } from '../../../src/properties/locale-map.ts';
import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { formatCount, pluralize } from '../../command-line/plurals.ts';
import { quote } from '../../command-line/printable.ts';
import { isMap } from '../catalogue/listing-schemas.ts';

export type Differences = {
  /** e.g. `price_from 118000 → 121000`, `title.fr removed`, `3 photos removed` */
  changes: string[];
  /** e.g. `title.fr`, `photos.alt.es`, `gallery` */
  cleared: string[];
};

/** Maximum number of characters that are quoted before the first difference of two texts. */
const CONTEXT_CHARACTERS = 15;
/** Maximum number of changed entries of a list that are described. The others are only counted. */
const SHOWN_ENTRIES = 2;

/** Compares a listing with the stored one. A new listing has no differences. */
export function compareListings(old: Source | undefined, now: Source): Differences {
  const differences: Differences = { changes: [], cleared: [] };
  if (old === undefined) return differences;
  compareFields(flattenFields(old), flattenFields(now), differences);
  if (differences.changes.length === 0 && !isSame(old.description, now.description)) {
    differences.changes.push('description has other markup');
  }
  compareLists(old, now, differences);
  const isVisible = ({ photos }: Source) => photos.some(({ web_visible }) => web_visible);
  if (now.photos.length > 0 && isVisible(old) && !isVisible(now))
    differences.cleared.push('gallery');
  return { changes: differences.changes, cleared: [...new Set(differences.cleared)] };
}

export function compareRecords(
  old: Location | Amenity | undefined,
  now: Location | Amenity | undefined,
): Differences {
  const differences: Differences = { changes: [], cleared: [] };
  if (now === undefined) differences.changes.push('removed');
  else if (old !== undefined) compareFields(old, now, differences);
  return differences;
}

function compareLists(old: Source, now: Source, differences: Differences): void {
  const fileName = ({ url }: { url: string }) => url.split('/').at(-1) || url;
  const [before, after] = [old.unique_features, now.unique_features];
  const features = [identifyFeatures(before, after), identifyFeatures(after, before)] as const;
  const withIds = ({ amenities }: Source) =>
    amenities.map((amenity) => ({ id: amenity.slug, ...amenity }));
  compareList('photos', 'photo', old.photos, now.photos, fileName, differences);
  compareList('videos', 'video', old.videos, now.videos, fileName, differences);
  compareList(
    'unique_features',
    'unique feature',
    ...features,
    ({ icon_slug }) => icon_slug,
    differences,
  );
  compareList('amenities', 'amenity', withIds(old), withIds(now), ({ id }) => id, differences);
}

/**
 * Adds ids to unique features. The id is the content if both lists have the feature, otherwise its
 * index.
 */
function identifyFeatures<T extends object>(features: readonly T[], others: readonly T[]) {
  const contents = new Set(others.map((feature) => JSON.stringify(feature)));
  return features.map((feature, index) => {
    const content = JSON.stringify(feature);
    return { id: contents.has(content) ? content : String(index), ...feature };
  });
}

/** Returns the fields that are compared one by one, without the lists. */
function flattenFields(listing: Source): Record<string, unknown> {
  const { id, photos, videos, unique_features, amenities, hero_photo_id, ...fields } = listing;
  return {
    ...fields,
    description: mapLocales(listing.description, toPlainText),
    hero_photo: photos.find(({ id: photoId }) => photoId === hero_photo_id)?.url ?? null,
  };
}

function compareFields(
  old: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  differences: Differences,
  prefix = '',
): void {
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const [name, before, after] = [`${prefix}${key}`, old[key], now[key]];
    if (isSame(before, after)) continue;
    if (isMap(before) && isMap(after) && before.id === after.id) {
      // Only a location has an id here. Its cleared texts are reported with its own record.
      compareFields(
        before,
        after,
        before.id === undefined ? differences : { ...differences, cleared: [] },
        `${name}.`,
      );
      continue;
    }
    if (after == null) differences.cleared.push(name);
    differences.changes.push(`${name} ${formatChange(before, after)}`);
  }
}

function formatChange(old: unknown, now: unknown): string {
  if (now === undefined) return 'removed';
  if (old === undefined) return `added: ${quote(now)}`;
  if (typeof old !== 'string' || typeof now !== 'string')
    return `${formatValue(old)} → ${formatValue(now)}`;
  let common = 0;
  while (common < old.length && old[common] === now[common]) common += 1;
  const first = Math.max(0, common - CONTEXT_CHARACTERS);
  const nextTerm = old.indexOf(' ', first) + 1;
  const start = first > 0 && nextTerm > 0 && nextTerm <= common ? nextTerm : first;
  const cut = (text: string) => quote(start === 0 ? text : `…${text.slice(start).toWellFormed()}`);
  return `${cut(old)} → ${cut(now)}`;
}

/** Formats a location as its slug. */
function formatValue(value: unknown): string {
  if (isMap(value)) return quote(value.slug ?? value.id);
  return value == null ? 'none' : quote(value);
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function compareList<T extends { id: string }>(
  field: string,
  one: string,
  old: readonly T[],
  now: readonly T[],
  labelOf: (entry: T) => string,
  differences: Differences,
): void {
  if (isSame(old, now)) return;
  const before = new Map(old.map((entry) => [entry.id, entry]));
  const after = new Map(now.map((entry) => [entry.id, entry]));
  const listMissing = (verb: string, list: readonly T[], others: ReadonlyMap<string, T>) => {
    const entries = list.filter(({ id }) => !others.has(id));
    const names = field === 'amenities' ? ` (${entries.map(labelOf).join(', ')})` : '';
    return entries.length === 0 ? [] : [`${formatCount(entries.length, one)} ${verb}${names}`];
  };
  const entries = now.map((entry) => {
    const entryDifferences: Differences = { changes: [], cleared: [] };
    compareFields(before.get(entry.id) ?? entry, entry, entryDifferences);
    return { entry, ...entryDifferences };
  });
  const changed = entries
    .filter(({ changes }) => changes.length > 0)
    .map(({ entry, changes }) => `${one} ${labelOf(entry)}: ${changes.join(', ')}`);
  const more = changed.length - SHOWN_ENTRIES;
  const changes = [
    ...listMissing('added', now, before),
    ...listMissing('removed', old, after),
    ...changed.slice(0, SHOWN_ENTRIES),
    ...(more > 0 ? [`${formatCount(more, `more ${one}`)} changed`] : []),
  ];
  // The cleared texts of an amenity are reported with its own record.
  const texts = one === 'amenity' ? [] : entries.flatMap(({ cleared }) => cleared);
  differences.cleared.push(...texts.map((name) => `${field}.${name}`));
  if (old.length > 0 && now.length === 0) differences.cleared.push(field);
  if (changes.length === 0) changes.push(`${pluralize(one)} in another order`);
  differences.changes.push(...changes);
}
