/**
 * The schemas of a stored listing. The import validates listings by them once, and the service trusts what is stored.
 * records.ts has the schemas of what an author writes.
 */

import * as z from 'zod';
import { uuid } from '../../src/http/uuid.ts';
import {
  amenity,
  location,
  PHOTO_SECTIONS,
  property,
} from '../../src/properties/openapi/resource.ts';
import {
  httpUrl,
  localeMap,
  localized,
  MAX_LIST_ENTRIES,
  MAX_TEXT_CHARACTERS,
  order,
  text,
} from '../../src/properties/openapi/text.ts';
import { PUBLIC_STATUSES } from '../../src/properties/parameters.ts';
import { plainTextOf, type RichText } from '../../src/properties/rich-text.ts';
import type { Source } from '../../src/properties/source.ts';

const CONTAINERS = ['doc', 'bulletList', 'orderedList', 'listItem', 'blockquote'] as const;
const BLOCKS = ['paragraph', 'heading'] as const;
const NODE_TYPES = new Set<string>([...CONTAINERS, ...BLOCKS, 'hardBreak', 'text']);
/** Bounds the recursion. No text that people read is nested so deep. */
export const MAX_NESTING = 64;

/** Checks a rich text. A problem has its path: `content.0.content.2.type`. */
export const richText: z.ZodType<RichText> = z.unknown().transform((value, context) => {
  const problems = typeof value === 'string' ? textProblems(value, []) : documentProblems(value);
  for (const { path, message } of problems) context.addIssue({ code: 'custom', path, message });
  if (problems.length > 0) return z.NEVER;
  // A text, or a document without problems.
  const checked = value as RichText;
  if ([...plainTextOf(checked)].length > MAX_TEXT_CHARACTERS) {
    context.addIssue({
      code: 'custom',
      message: `must have at most ${MAX_TEXT_CHARACTERS} characters`,
    });
  }
  return checked;
});

/** A stored photo, shown on the web or not. */
export const photo = z.strictObject({
  id: uuid,
  url: httpUrl,
  alt: localeMap.default({}),
  section: z.enum(PHOTO_SECTIONS),
  web_visible: z.boolean(),
  web_sort_order: order,
});

/** A stored video. */
export const video = z.strictObject({
  id: uuid,
  url: httpUrl,
  type: text,
  web_visible: z.boolean(),
  sort_order: order,
});

/** The fields of the resource, without the fields that `render` makes, and without location and amenities. */
const { location_text, display_order, is_early_access, ...first } = property.omit({
  object: true,
  hero_image: true,
  gallery: true,
  video_url: true,
  location: true,
  amenities: true,
  url: true,
}).shape;

/**
 * The fields of a listing that a listings file and the store have in common. Do not change their order: an import
 * compares stored sources as texts.
 */
export const ownFields = withDefaults({
  ...first,
  id: uuid,
  status: z.enum([...PUBLIC_STATUSES, 'hidden']),
  description: localized(richText),
  hero_photo_id: uuid.nullable(),
  photos: z.array(photo).max(MAX_LIST_ENTRIES),
  videos: z.array(video).max(MAX_LIST_ENTRIES),
  location_text,
  display_order,
  is_early_access,
});

/** A stored listing. */
export const source = z.strictObject({
  ...ownFields,
  location: location.nullable(),
  amenities: z.array(amenity),
}) satisfies z.ZodType<Source>;

/** Texts and numbers are required; any other field has a default. */
type WithDefaults<Shape extends Record<string, z.ZodType>> = {
  [Name in keyof Shape]: z.output<Shape[Name]> extends string | number
    ? Shape[Name]
    : z.ZodDefault<Shape[Name]>;
};

/** Gives each field the first of null, {}, [] and false that it accepts as its default. */
function withDefaults<Shape extends Record<string, z.ZodType>>(shape: Shape): WithDefaults<Shape> {
  const fields = Object.entries(shape).map(([name, schema]) => {
    const empty = [null, {}, [], false].find((value) => schema.safeParse(value).success);
    return [name, empty === undefined ? schema : schema.default(empty)];
  });
  // Object.fromEntries forgets which name has which schema.
  return Object.fromEntries(fields) as WithDefaults<Shape>;
}

type NodeProblem = { path: (string | number)[]; message: string };

function documentProblems(value: unknown): NodeProblem[] {
  if (!isObject(value) || value.type !== 'doc') {
    return [{ path: [], message: 'must be a string or a ProseMirror document of type "doc"' }];
  }
  return nodeProblems(value, [], 1);
}

function nodeProblems(node: unknown, path: (string | number)[], depth: number): NodeProblem[] {
  if (!isObject(node)) return [{ path, message: 'must be a ProseMirror node' }];
  if (depth > MAX_NESTING)
    return [{ path, message: `must be nested at most ${MAX_NESTING} levels deep` }];
  if (typeof node.type !== 'string' || !NODE_TYPES.has(node.type)) {
    return [{ path: [...path, 'type'], message: `must be one of ${[...NODE_TYPES].join(', ')}` }];
  }
  if (node.type === 'doc' && depth > 1) {
    return [{ path: [...path, 'type'], message: 'must not be a document inside a document' }];
  }
  if (node.type === 'text') return textProblems(node.text, [...path, 'text']);
  if (node.content === undefined) return [];
  if (!Array.isArray(node.content) || node.content.length > MAX_LIST_ENTRIES) {
    const message = `must be a list of at most ${MAX_LIST_ENTRIES} nodes`;
    return [{ path: [...path, 'content'], message }];
  }
  return node.content.flatMap((child: unknown, index) =>
    nodeProblems(child, [...path, 'content', index], depth + 1),
  );
}

function textProblems(value: unknown, path: (string | number)[]): NodeProblem[] {
  const parsed = text.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map(({ message }) => ({ path, message }));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
