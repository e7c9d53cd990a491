/**
 * The records of a listings file (docs/guides/listings-file.md): their schemas, the ids that they get, and the merge of a
 * patch into a stored record. Pure.
 */

import { parse, v5 } from 'uuid';
import * as z from 'zod';
import { uuid } from '../../src/http/uuid.ts';
import { amenity, location } from '../../src/properties/openapi/resource.ts';
import { httpUrl, localized, MAX_LIST_ENTRIES, text } from '../../src/properties/openapi/text.ts';
import { plainTextOf, type RichText, type RichTextNode } from '../../src/properties/rich-text.ts';
import { slug } from '../../src/properties/slug.ts';
import type { Source } from '../../src/properties/source.ts';
import { MAX_NESTING, ownFields, photo, richText, video } from './listing-schemas.ts';

/** Published in docs/guides/listings-file.md: another namespace would give every record another id. */
const ID_NAMESPACE = parse('dab30d73-9ba7-4be9-995d-d83048c8cdd4');

/** Sites write URLs into pages, where these would end an attribute or a tag. */
const UNSAFE_IN_URL = /["'<>\s]/;

/** A URL, in normal form. Credentials in it would be seen by every visitor. */
const writtenUrl = httpUrl
  .transform((value, context) => {
    const reject = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    // The URL parser drops these silently.
    if (/[\t\n\r]/.test(value)) return reject('must not contain line breaks or tabs');
    const url = URL.parse(escaped(value.trim()));
    // The URL parser decodes the percent-encoded characters of a host.
    if (url === null || UNSAFE_IN_URL.test(url.href)) {
      return reject('must be an absolute http or https URL');
    }
    if (url.username || url.password) return reject('must not contain credentials');
    return url.href;
  })
  .pipe(httpUrl);

function escaped(url: string): string {
  return url.replace(new RegExp(UNSAFE_IN_URL, 'g'), (character) =>
    character === "'" ? '%27' : encodeURIComponent(character),
  );
}

/**
 * Rich text with bounded attributes and marks. They are never shown, but SQLite cannot read JSON that is nested deeper.
 */
const writtenRichText = richText.pipe(
  z.custom<RichText>().superRefine((value, context) => {
    if (typeof value === 'string') return;
    for (const path of pathsOfDeepFields(value, [])) {
      const message = `must be nested at most ${MAX_NESTING} levels deep`;
      context.addIssue({ code: 'custom', path, message });
    }
  }),
);

/** Returns the paths of fields that are nested too deep, except for the content of nodes. */
function pathsOfDeepFields(node: RichTextNode, path: PropertyKey[]): PropertyKey[][] {
  // The schema has checked the content of every node but text nodes, which must not have any.
  const hasContent = node.type !== 'text';
  const others = Object.entries(node).filter(([name]) => !(hasContent && name === 'content'));
  return [
    ...others
      .filter(([, value]) => isDeeperThan(MAX_NESTING, value))
      .map(([name]) => [...path, name]),
    ...((hasContent && node.content) || []).flatMap((child, index) =>
      pathsOfDeepFields(child, [...path, 'content', index]),
    ),
  ];
}

/** Reports whether a value has more levels of objects and lists, itself included. Without recursion, as it may be deep. */
function isDeeperThan(levels: number, value: unknown): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; depth < levels && level.length > 0; depth += 1) {
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return level.length > 0;
}

/** A list of a listing. It may be left out. */
const optionalList = <Entry extends z.ZodType>(entry: Entry) =>
  z.array(entry).max(MAX_LIST_ENTRIES).default([]);

/** Blank text is no text. */
const optionalText = text
  .nullable()
  .transform((value) => (isBlank(value ?? '') ? null : value))
  .default(null);

/** Rich text in some of the languages. A blank one is dropped. */
const description = (schema: z.ZodType<RichText>) =>
  localized(schema)
    .overwrite((map) => {
      const entries = Object.entries(map).filter(([, value]) => !isBlank(plainTextOf(value)));
      return Object.fromEntries(entries);
    })
    .default({});

/** A listing in the form of a file: it names its location by id or slug, and its amenities by slug. */
export const fileListing = z.strictObject({
  ...ownFields,
  hid: optionalText,
  name: ownFields.name.regex(/\S|^$/, 'must not be blank'),
  description: description(richText),
  address: optionalText,
  city: optionalText,
  location_id: uuid.nullable().default(null),
  location: slug.nullable().exactOptional(),
  hero_photo: writtenUrl.nullable().exactOptional(),
  amenities: optionalList(slug),
});

const writtenPhoto = photo.extend({ url: writtenUrl });
const writtenVideo = video.extend({ url: writtenUrl });

/** A listing of a file. Rules that stored listings may break are here, and not in the schema of stored listings. */
export const writtenListing = fileListing.extend({
  description: description(writtenRichText),
  financial_analysis_url: writtenUrl.nullable().default(null),
  photos: optionalList(writtenPhoto),
  videos: optionalList(writtenVideo),
});

/** A location of a file. Its id is read in either case, and its slug may be left out. */
export const writtenLocation = location.extend({
  id: uuid,
  slug: location.shape.slug.default(null),
});

export type FileListing = z.infer<typeof fileListing>;

/** Returns a stored listing in the form of a file. */
export function fileListingOf({ location, amenities, ...own }: Source): FileListing {
  return {
    ...own,
    location_id: location?.id ?? null,
    amenities: amenities.map((each) => each.slug),
  };
}

/** A record as a patch gives it: the fields that it changes, and null for an emptied field or language. */
export type Patch = Record<string, unknown>;

/** Returns the schema of a patch of a record: every field may be left out. */
function patchOf(record: z.ZodObject) {
  const fields = Object.entries(record.shape).map(([name, schema]) => [
    name,
    z.exactOptional(emptiable(schema)),
  ]);
  return z.strictObject(Object.fromEntries(fields));
}

/** Accepts null for a field with a default, and for a language, which it removes. Other fields do not accept null. */
function emptiable(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  if (inner instanceof z.ZodObject) {
    return z.nullable(localized(z.nullable(inner.shape.en.unwrap())));
  }
  if (!(schema instanceof z.ZodDefault)) return schema;
  const empty = schema.def.defaultValue;
  return z.pipe(
    z.nullable(inner),
    z.transform((value) => value ?? empty),
  );
}

export const locationPatch: z.ZodType<Patch> = patchOf(writtenLocation);
export const amenityPatch: z.ZodType<Patch> = patchOf(amenity);
/** Photos and videos may leave fields out too: see `mergedMedia`. */
export const listingPatch: z.ZodType<Patch> = patchOf(
  writtenListing.extend({
    photos: optionalList(patchOf(writtenPhoto)),
    videos: optionalList(patchOf(writtenVideo)),
  }),
);

/**
 * Merges a patch into a record in the form of a file, languages one by one; into `{}` for a new record. The result is
 * to be parsed.
 */
export function merged(record: Patch, patch: Patch): Patch {
  const isNew = Object.keys(record).length === 0;
  const changes = Object.entries(patch).flatMap(([name, value]) => {
    const old = record[name];
    if (!isMap(old ?? value)) return isNew && value === null ? [] : [[name, value]];
    const languages = Object.entries({ ...(isMap(old) && old), ...(isMap(value) && value) });
    const left = value === null ? [] : languages.filter(([, text]) => text !== null);
    return [[name, Object.fromEntries(left)]];
  });
  return { ...record, ...Object.fromEntries(changes) };
}

/** Merges a patch into a listing in the form of a file; into `{}` for a new one. The result is to be parsed. */
export function mergedListing(listing: Patch, patch: Patch): Patch {
  const record = merged(listing, patch);
  if ('photos' in patch) {
    const photos = mergedEntries(listing.photos, patch.photos, NEW_PHOTO);
    record.photos = numbered(photos, 'web_sort_order');
  }
  if ('videos' in patch) {
    record.videos = numbered(mergedEntries(listing.videos, patch.videos, {}), 'sort_order');
  }
  const photos = mapsIn(record.photos).map(({ id }) => id);
  if (!('hero_photo_id' in patch) && !photos.includes(record.hero_photo_id)) {
    record.hero_photo_id = null;
  }
  return record;
}

/** The fields of a new photo that a patch gives by its address alone. */
const NEW_PHOTO = { alt: {}, section: 'gallery', web_visible: true };

/** An entry of a list in a patch, and the whole entry that it makes. */
type MergedEntry = { entry: Patch; whole: Patch };

/** Merges each entry of a list into the stored entry that has its id, or else its address. */
function mergedEntries(stored: unknown, patched: unknown, defaults: object): MergedEntry[] {
  const known = mapsIn(stored);
  return mapsIn(patched).map((entry) => {
    const { id, url } = entry;
    const old =
      known.find((each) => id !== undefined && each.id === id) ??
      known.find((each) => each.url === url);
    return { entry, whole: { ...defaults, ...withId(merged(old ?? {}, entry), 'url') } };
  });
}

/**
 * Numbers the entries in ascending order, except where the patch itself has numbers. Stored numbers change only where
 * they must, e.g. 10, none, 20 → 10, 11, 20.
 */
function numbered(entries: readonly MergedEntry[], field: string): Patch[] {
  const open = entries.filter(({ entry }) => entry[field] === undefined);
  const numbers = open.map(({ whole }) => whole[field]);
  const kept = longestAscending(numbers);
  const [first] = kept;
  let next = first === undefined ? 1 : Number(numbers[first]) - first;
  for (const [index, { whole }] of open.entries()) {
    if (kept.includes(index)) next = Number(numbers[index]);
    whole[field] = next;
    next += 1;
  }
  return entries.map(({ whole }) => whole);
}

/** Returns the places of the most numbers that can stay in an ascending list of whole numbers. */
function longestAscending(numbers: readonly unknown[]): number[] {
  let longest: number[] = [];
  const chains: number[][] = [];
  for (const [index, number] of numbers.entries()) {
    if (typeof number !== 'number') continue;
    let before: number[] = [];
    for (const chain of chains) {
      const last = chain.at(-1) ?? 0;
      const fits = number - Number(numbers[last]) >= index - last;
      if (fits && chain.length > before.length) before = chain;
    }
    chains.push([...before, index]);
    if (before.length >= longest.length) longest = [...before, index];
  }
  return longest;
}

function mapsIn(list: unknown): Patch[] {
  return Array.isArray(list) ? list.filter(isMap) : [];
}

/** Returns a listing of a file in which every photo and video has an id. */
export function withMediaIds(listing: Patch): Patch {
  const lists = (['photos', 'videos'] as const).flatMap((name) => {
    const list = listing[name];
    if (!Array.isArray(list)) return [];
    return [[name, list.map((entry: unknown) => (isMap(entry) ? withId(entry, 'url') : entry))]];
  });
  return { ...listing, ...Object.fromEntries(lists) };
}

/**
 * Returns a record with an id: its own, or the UUID that follows from the first of the keys that it has, which is the
 * same for ever.
 */
export function withId(record: Patch, ...keys: ('hid' | 'slug' | 'url')[]): Patch {
  if (record.id !== undefined) return record;
  for (const name of keys) {
    const key = name === 'url' ? writtenUrl.safeParse(record.url).data : record[name];
    if (typeof key === 'string' && key !== '') return { id: v5(key, ID_NAMESPACE), ...record };
  }
  return record;
}

function isBlank(value: string): boolean {
  return value.trim() === '';
}

/** Reports whether a value is an object and no list. */
export function isMap(value: unknown): value is Patch {
  return isContainer(value) && !Array.isArray(value);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
