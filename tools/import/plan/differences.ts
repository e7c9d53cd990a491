/** The differences of two listings: texts for the editor, and emptied fields. Pure. */

import { mapLocales } from '../../../src/properties/locale-map.ts';
import { toPlainText } from '../../../src/properties/rich-text.ts';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { formatCount, pluralize } from '../../command-line/plurals.ts';
import { quote } from '../../command-line/printable.ts';
import { isMap } from '../catalogue/listing-schemas.ts';

export type Differences = {
  /** `price_from 118000 → 121000`, `title.fr removed`, `3 photos removed` */
  changes: string[];
  /** `title.fr`, `photos.alt.es`, `gallery` */
  cleared: string[];
};

/** Shown of a long text before its first difference. */
const CONTEXT_CHARACTERS = 15;
/** Other changed entries of a list are only counted. */
const SHOWN_ENTRIES = 2;

/** A new listing has no differences. */
export function compareListings(old: Source | undefined, now: Source): Differences {
  const found: Differences = { changes: [], cleared: [] };
  if (old === undefined) return found;
  compareFields(flattenFields(old), flattenFields(now), found);
  if (found.changes.length === 0 && !isSame(old.description, now.description)) {
    found.changes.push('description has other markup');
  }
  compareLists(old, now, found);
  const isShown = ({ photos }: Source) => photos.some((each) => each.web_visible);
  if (now.photos.length > 0 && isShown(old) && !isShown(now)) found.cleared.push('gallery');
  return { changes: found.changes, cleared: [...new Set(found.cleared)] };
}

export function compareRecords(
  old: Location | Amenity | undefined,
  now: Location | Amenity | undefined,
): Differences {
  const found: Differences = { changes: [], cleared: [] };
  if (now === undefined) found.changes.push('removed');
  else if (old !== undefined) compareFields(old, now, found);
  return found;
}

function compareLists(old: Source, now: Source, found: Differences): void {
  const fileName = ({ url }: { url: string }) => url.split('/').at(-1) || url;
  const [was, is] = [old.unique_features, now.unique_features];
  const features = [identifyFeatures(was, is), identifyFeatures(is, was)] as const;
  const withIds = ({ amenities }: Source) => amenities.map((each) => ({ id: each.slug, ...each }));
  compareList('photos', 'photo', old.photos, now.photos, fileName, found);
  compareList('videos', 'video', old.videos, now.videos, fileName, found);
  compareList('unique_features', 'unique feature', ...features, (each) => each.icon_slug, found);
  compareList('amenities', 'amenity', withIds(old), withIds(now), ({ id }) => id, found);
}

/** Unique features have no key: one in both lists has its content as its id, else its index. */
function identifyFeatures<T extends object>(features: readonly T[], others: readonly T[]) {
  const contents = new Set(others.map((each) => JSON.stringify(each)));
  return features.map((each, index) => {
    const content = JSON.stringify(each);
    return { id: contents.has(content) ? content : String(index), ...each };
  });
}

/** Returns the fields that are compared by their values. */
function flattenFields(listing: Source): Record<string, unknown> {
  const { id, photos, videos, unique_features, amenities, hero_photo_id, ...fields } = listing;
  return {
    ...fields,
    description: mapLocales(listing.description, toPlainText),
    hero_photo: photos.find((each) => each.id === hero_photo_id)?.url ?? null,
  };
}

function compareFields(
  old: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  found: Differences,
  prefix = '',
): void {
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const [name, was, is] = [`${prefix}${key}`, old[key], now[key]];
    if (isSame(was, is)) continue;
    if (isMap(was) && isMap(is) && was.id === is.id) {
      // Two texts, which have no id, or the same location: its own record reports what is emptied.
      compareFields(was, is, was.id === undefined ? found : { ...found, cleared: [] }, `${name}.`);
      continue;
    }
    if (is == null) found.cleared.push(name);
    found.changes.push(`${name} ${formatChange(was, is)}`);
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
  const word = old.indexOf(' ', first) + 1;
  const start = first > 0 && word > 0 && word <= common ? word : first;
  const cut = (text: string) => quote(start === 0 ? text : `…${text.slice(start).toWellFormed()}`);
  return `${cut(old)} → ${cut(now)}`;
}

/** A location is shown by its slug. */
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
  found: Differences,
): void {
  if (isSame(old, now)) return;
  const before = new Map(old.map((each) => [each.id, each]));
  const after = new Map(now.map((each) => [each.id, each]));
  const onlyIn = (verb: string, list: readonly T[], others: ReadonlyMap<string, T>) => {
    const entries = list.filter(({ id }) => !others.has(id));
    const names = field === 'amenities' ? ` (${entries.map(labelOf).join(', ')})` : '';
    return entries.length === 0 ? [] : [`${formatCount(entries.length, one)} ${verb}${names}`];
  };
  const entries = now.map((entry) => {
    const own: Differences = { changes: [], cleared: [] };
    compareFields(before.get(entry.id) ?? entry, entry, own);
    return { entry, ...own };
  });
  const changed = entries
    .filter(({ changes }) => changes.length > 0)
    .map(({ entry, changes }) => `${one} ${labelOf(entry)}: ${changes.join(', ')}`);
  const more = changed.length - SHOWN_ENTRIES;
  const changes = [
    ...onlyIn('added', now, before),
    ...onlyIn('removed', old, after),
    ...changed.slice(0, SHOWN_ENTRIES),
    ...(more > 0 ? [`${formatCount(more, `more ${one}`)} changed`] : []),
  ];
  // An amenity's own record reports what it loses.
  const texts = one === 'amenity' ? [] : entries.flatMap(({ cleared }) => cleared);
  found.cleared.push(...texts.map((name) => `${field}.${name}`));
  if (old.length > 0 && now.length === 0) found.cleared.push(field);
  if (changes.length === 0) changes.push(`${pluralize(one)} in another order`);
  found.changes.push(...changes);
}
