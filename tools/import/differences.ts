/** The differences between a stored listing and its replacement: texts for the editor, and the emptied fields. Pure. */

import { LOCALES } from '../../src/properties/locale-map.ts';
import { plainTextOf } from '../../src/properties/rich-text.ts';
import type { Amenity, Location, Source } from '../../src/properties/source.ts';
import { counted, shown } from './problem.ts';
import { isMap } from './records.ts';

export type Differences = {
  /** `price_from 118000 → 121000`, `title.fr removed`, `3 photos removed`. */
  changes: string[];
  /** The fields, languages and galleries that become empty: `title.fr`, `amenities.label.es`. */
  emptied: string[];
};

/** A long text is shown from a little before the place where it begins to differ. */
const CONTEXT_CHARACTERS = 15;
/** This many changed entries of a list are shown with their differences. The others are counted. */
const SHOWN_ENTRIES = 2;

/** Returns the differences of two listings. */
export function differencesOf(old: Source, now: Source): Differences {
  const found: Differences = { changes: [], emptied: [] };
  const before = fieldsOf(old);
  const after = fieldsOf(now);
  for (const name of Object.keys(before)) compare(name, before[name], after[name], found);
  if (found.changes.length === 0 && !isSame(old.description, now.description)) {
    found.changes.push('description has other markup');
  }
  compareList('photos', old.photos, now.photos, (each) => nameOfAddress(each.url), found);
  compareList('videos', old.videos, now.videos, (each) => nameOfAddress(each.url), found);
  const wasShown = old.photos.some((each) => each.web_visible);
  if (now.photos.length > 0 && wasShown && !now.photos.some((each) => each.web_visible)) {
    found.emptied.push('gallery');
  }
  const [was, is] = [old.unique_features, now.unique_features];
  const labelOf = ({ icon_slug }: Feature) => icon_slug;
  compareList('unique_features', withIds(was, is), withIds(is, was), labelOf, found);
  const offered = ({ amenities }: Source) => amenities.map((each) => ({ id: each.slug, ...each }));
  compareList('amenities', offered(old), offered(now), ({ id }) => id, found);
  return { changes: found.changes, emptied: [...new Set(found.emptied)] };
}

/** Returns the differences between a stored location or amenity and its replacement. */
export function recordDifferences<T extends Location | Amenity>(old: T, now: T): string[] {
  const found: Differences = { changes: [], emptied: [] };
  compareFields(old, now, '', found);
  return found.changes;
}

type Feature = Source['unique_features'][number];

/** Unique features have no key. A feature that is in both lists has its content as its id, another one its place. */
function withIds(features: readonly Feature[], others: readonly Feature[]) {
  const contents = new Set(others.map((each) => JSON.stringify(each)));
  return features.map((each, place) => {
    const content = JSON.stringify(each);
    return { id: contents.has(content) ? content : String(place), ...each };
  });
}

/** Returns the fields that are compared by their values. */
function fieldsOf(listing: Source): Record<string, unknown> {
  const { id, photos, videos, unique_features, amenities, hero_photo_id, ...fields } = listing;
  const texts = LOCALES.flatMap((locale) => {
    const text = listing.description[locale];
    return text === undefined ? [] : [[locale, plainTextOf(text)]];
  });
  return {
    ...fields,
    description: Object.fromEntries(texts),
    hero_photo: photos.find((each) => each.id === hero_photo_id)?.url ?? null,
  };
}

/** Compares a field. The languages of a text, and the fields of one location, are compared one by one. */
function compare(name: string, old: unknown, now: unknown, found: Differences): void {
  if (isSame(old, now)) return;
  if (isMap(old) && isMap(now) && old.id === now.id) {
    compareFields(old, now, `${name}.`, found);
    return;
  }
  if (isEmpty(now)) found.emptied.push(name);
  found.changes.push(`${name} ${changeOf(old, now)}`);
}

function compareFields(
  old: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  prefix: string,
  found: Differences,
): void {
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    compare(`${prefix}${key}`, old[key], now[key], found);
  }
}

function changeOf(old: unknown, now: unknown): string {
  if (now === undefined) return 'removed';
  if (old === undefined) return `added: ${shown(now)}`;
  if (typeof old !== 'string' || typeof now !== 'string') return `${nameOf(old)} → ${nameOf(now)}`;
  let common = 0;
  while (common < old.length && old[common] === now[common]) common += 1;
  const start = Math.max(0, common - CONTEXT_CHARACTERS);
  const cut = (text: string) => shown(start === 0 ? text : `…${text.slice(start).toWellFormed()}`);
  return `${cut(old)} → ${cut(now)}`;
}

/** Shows a value. A location is shown by its slug. */
function nameOf(value: unknown): string {
  if (isMap(value)) return shown(value.slug ?? value.id);
  return isEmpty(value) ? 'none' : shown(value);
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Compares a list by the ids of its entries: added entries, removed ones, and the fields of the others. */
function compareList<T extends { id: string }>(
  name: string,
  old: readonly T[],
  now: readonly T[],
  labelOf: (entry: T) => string,
  found: Differences,
): void {
  if (isSame(old, now)) return;
  const changes: string[] = [];
  const one = name === 'amenities' ? 'amenity' : name.replace(/s$/, '').replace('_', ' ');
  const many = name.replace('_', ' ');
  const tell = (entries: readonly T[], verb: string) => {
    if (entries.length > 0) changes.push(`${counted(entries.length, one, many)} ${verb}`);
    if (entries.length > 0 && name === 'amenities') {
      changes.push(`${changes.pop()} (${entries.map(labelOf).join(', ')})`);
    }
  };
  const before = new Map(old.map((each) => [each.id, each]));
  const ids = new Set(now.map(({ id }) => id));
  tell(
    now.filter(({ id }) => !before.has(id)),
    'added',
  );
  tell(
    old.filter(({ id }) => !ids.has(id)),
    'removed',
  );
  const changed = now.flatMap((entry) => {
    const own: Differences = { changes: [], emptied: [] };
    compareFields(before.get(entry.id) ?? entry, entry, '', own);
    found.emptied.push(...own.emptied.map((field) => `${name}.${field}`));
    return own.changes.length === 0 ? [] : [`${one} ${labelOf(entry)}: ${own.changes.join(', ')}`];
  });
  changes.push(...changed.slice(0, SHOWN_ENTRIES));
  const more = changed.length - SHOWN_ENTRIES;
  if (more > 0) changes.push(`${counted(more, `more ${one}`, `more ${many}`)} changed`);
  if (changes.length === 0) changes.push(`${many} in another order`);
  if (old.length > 0 && now.length === 0) found.emptied.push(name);
  found.changes.push(...changes);
}

/** Returns the last part of an address: `1.jpg`. */
function nameOfAddress(url: string): string {
  return url.split('/').at(-1) || url;
}
