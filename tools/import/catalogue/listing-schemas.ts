/**
 * The schemas of a listing's fields. Only imports validate listings: the service trusts stored ones.
 * records.ts has the schemas of whole records.
 */

import * as z from 'zod';
import { ZOD_OPTIONS } from '../../../src/http/validation-problems.ts';
import { isBlank } from '../../../src/properties/locale-map.ts';
import {
  httpUrl,
  localeMap,
  localized,
  MAX_LIST_ENTRIES,
  MAX_TEXT_CHARACTERS,
  photoSection,
  property,
  text,
} from '../../../src/properties/openapi/property.ts';
import { type RichText, toPlainText } from '../../../src/properties/rich-text.ts';
import { storedStatus } from '../../../src/properties/statuses.ts';
import { uuid } from '../../../src/schema/uuid.ts';

const NODE_TYPES = [
  ...['bulletList', 'orderedList', 'listItem', 'blockquote'],
  ...['paragraph', 'heading', 'hardBreak', 'text'],
];
/** Maximum depth of a rich text in levels of JSON. A node has two: itself, and its list of nodes. */
const MAX_NESTING = 128;

const nodes = z
  .array(z.lazy(() => node))
  .max(MAX_LIST_ENTRIES)
  .exactOptional();
const node: z.ZodType = z
  .looseObject({ type: z.enum(NODE_TYPES), text: text.exactOptional(), content: nodes })
  .refine(({ type, text: content }) => type !== 'text' || content !== undefined, {
    path: ['text'],
    error: 'is required',
  });
const document = z.looseObject({ type: z.literal('doc'), content: nodes });

/**
 * A string or a ProseMirror document. Problems have a path inside it, e.g.
 * `content.0.content.2.type`.
 */
export const richText = z.custom<RichText>().superRefine((value, context) => {
  for (const { path, message } of richTextProblems(value)) {
    // Later checks read a valid text.
    context.addIssue({ code: 'custom', path, message, continue: false });
  }
});

function richTextProblems(value: RichText): { path: PropertyKey[]; message: string }[] {
  const reject = (message: string) => [{ path: [], message }];
  if (typeof value !== 'string' && (!isMap(value) || value.type !== 'doc')) {
    return reject('must be a string or a ProseMirror document of type "doc"');
  }
  // Attributes and marks are never shown, but SQLite rejects deeper JSON, and NUL in it.
  let texts: string[] = [];
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const containers = level.filter(isContainer);
    if (depth >= MAX_NESTING && containers.length > 0) {
      return reject(`must be nested at most ${MAX_NESTING} levels deep`);
    }
    const strings = level.filter((value) => typeof value === 'string');
    texts = texts.concat(strings, containers.flatMap(Object.keys));
    level = containers.flatMap((container) => Object.values(container));
  }
  const { error } = (typeof value === 'string' ? text : document).safeParse(value, ZOD_OPTIONS);
  if (error) return error.issues;
  const [hidden] = texts.flatMap((value) => text.safeParse(value, ZOD_OPTIONS).error?.issues ?? []);
  if (hidden !== undefined) return reject(hidden.message);
  const isLong = [...toPlainText(value)].length > MAX_TEXT_CHARACTERS;
  return isLong ? reject(`must have at most ${MAX_TEXT_CHARACTERS} characters`) : [];
}

/** An http or https URL, converted to its normal form. */
export const url = httpUrl
  // The URL parser would drop them silently.
  .regex(/^[^\t\n\r]*$/, 'must not contain line breaks or tabs')
  .refine((value) => !/[,;|\s]https?:/i.test(value), 'must be one URL, not two')
  // Invisible characters at the end are dropped, as in a slug.
  .transform((value) => value.replace(/(?<![\s\p{Cf}])[\s\p{Cf}]+$/u, ''))
  .transform((value) => URL.parse(value.replaceAll("'", '%27'))?.href ?? '')
  .pipe(
    httpUrl
      // Sites write URLs into pages, where these would end an attribute or a tag. The URL parser
      // encodes them, except the apostrophe, and decodes them in a host.
      .regex(/^[^"'<>\s]*$/, { error: 'must be an absolute http or https URL', abort: true })
      // Every visitor would see them.
      .regex(/^https?:\/\/[^/@]*\//, 'must not contain credentials'),
  );

export const photo = z.strictObject({
  id: uuid,
  url,
  alt: localeMap.default({}),
  section: photoSection,
  web_visible: z.boolean(),
  web_sort_order: z.int32(),
});

export const video = z.strictObject({
  id: uuid,
  url,
  type: text,
  web_visible: z.boolean(),
  sort_order: z.int32(),
});

const optionalText = text
  .nullable()
  .transform((value) => (value === null || isBlank(value) ? null : value));

/** Drops blank texts. */
const description = localized(richText).overwrite((map) => {
  const entries = Object.entries(map).filter(([, value]) => !isBlank(toPlainText(value)));
  return Object.fromEntries(entries);
});

const { shape } = property;

/**
 * The fields that a listings file and the store have in common. A file may omit a field that has a
 * default. Do not reorder the fields, because an import compares stored listings as JSON text.
 */
export const listingFields = {
  id: uuid,
  hid: optionalText.default(null),
  slug: shape.slug,
  name: shape.name.refine((name) => name === '' || !isBlank(name), 'must not be blank'),
  status: storedStatus,
  title: shape.title.default({}),
  type: shape.type.default(null),
  description: description.default({}),
  unique_features: shape.unique_features.default([]),
  bedrooms: shape.bedrooms.default(null),
  beds: shape.beds.default(null),
  bathrooms: shape.bathrooms.default(null),
  bathtubs: shape.bathtubs.default(null),
  capacity: shape.capacity.default(null),
  size: shape.size.default(null),
  address: optionalText.default(null),
  city: optionalText.default(null),
  latitude: shape.latitude.default(null),
  longitude: shape.longitude.default(null),
  price_from: shape.price_from.default(null),
  fraction_from: shape.fraction_from.default(null),
  weeks_per_year: shape.weeks_per_year.default(null),
  financial_analysis_url: url.nullable().default(null),
  hero_photo_id: uuid.nullable().default(null),
  photos: z.array(photo).max(MAX_LIST_ENTRIES).default([]),
  videos: z.array(video).max(MAX_LIST_ENTRIES).default([]),
  location_text: shape.location_text.default({}),
  display_order: shape.display_order,
  is_early_access: shape.is_early_access.default(false),
};

export function isMap(value: unknown): value is Record<string, unknown> {
  return isContainer(value) && !Array.isArray(value);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
