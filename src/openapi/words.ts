/**
 * Gives schemas their words for the OpenAPI document: descriptions, examples and the like. Words do not stand in the
 * schemas themselves, which the Worker bundles. Here are also the words of the schemas that every capability shares:
 * UUIDs, paging parameters and pages.
 */

import * as z from 'zod';
import {
  DEFAULT_PAGE_SIZE,
  listOf,
  MAX_CURSOR_CHARACTERS,
  MAX_PAGE_SIZE,
  pagingParameters,
} from '../http/paging.ts';
import { lowerCaseUuid, uuid } from '../http/uuid.ts';

/** The words of a field, or its description alone. zod-openapi reads `param`, `header` and `override`. */
export type Words = string | (z.GlobalMeta & { description: string });

/**
 * The words of a schema. An object schema needs words for each field except `object`, or `undefined` for a field whose
 * schema has its own words.
 */
type WordsOf<Schema extends z.ZodType> = z.GlobalMeta &
  (Schema extends z.ZodObject<infer Shape>
    ? { fields: { readonly [Name in Exclude<keyof Shape, 'object'>]: Words | undefined } }
    : { fields?: never });

/** Object schema → the words of its fields. */
const fieldWords = new WeakMap<z.ZodType, Readonly<Record<string, Words | undefined>>>();
/** Schema → its copy with words. A schema has one copy, so that it stays one component of the document. */
const wordedSchemas = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Registers the words of a schema for every place that shows it, and returns the schema. */
export function described<Schema extends z.ZodType>(
  schema: Schema,
  { fields, ...words }: WordsOf<Schema>,
): Schema {
  if (wordedSchemas.has(schema)) throw new Error('the document shows this schema already');
  z.globalRegistry.add(schema, words);
  if (fields !== undefined) fieldWords.set(schema, fields);
  return schema;
}

/** Returns a copy of the schema with all registered words: its own, and those of its fields and members. */
export function worded<Schema extends z.core.$ZodType>(schema: Schema): Schema & z.ZodType {
  const known = wordedSchemas.get(schema) ?? rebuilt(schema);
  wordedSchemas.set(schema, known);
  // A copy has the type of its original.
  return known as Schema & z.ZodType;
}

function rebuilt(schema: z.core.$ZodType): z.ZodType {
  const { parent, def } = schema._zod;
  // `meta` copies a schema and keeps its definition: the copy refers to the same component.
  if (parent?._zod.def === def) return worded(parent).meta(z.globalRegistry.get(schema) ?? {});
  if (schema instanceof z.ZodObject) {
    const words = fieldWords.get(schema) ?? {};
    const fields = Object.entries(schema.shape).map(([name, field]) => {
      const given = words[name];
      const meta = typeof given === 'string' ? { description: given } : given;
      return [name, meta === undefined ? worded(field) : worded(field).meta(meta)];
    });
    return withDefinition(schema, { shape: Object.fromEntries(fields) });
  }
  if (schema instanceof z.ZodArray)
    return withDefinition(schema, { element: worded(schema.element) });
  if (schema instanceof z.ZodUnion) {
    return withDefinition(schema, { options: schema.options.map((option) => worded(option)) });
  }
  if (
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional
  ) {
    return withDefinition(schema, { innerType: worded(schema.unwrap()) });
  }
  if (schema instanceof z.ZodType) return schema;
  throw new Error(`zod's core has no words: ${schema._zod.def.type}`);
}

/** Copies a schema with other parts, and with the schema's own words. */
function withDefinition(schema: z.ZodType, parts: object): z.ZodType {
  const copy = schema.clone({ ...schema.def, ...parts });
  const words = z.globalRegistry.get(schema);
  if (words !== undefined) z.globalRegistry.add(copy, words);
  return copy;
}

const UUID_WORDS = {
  format: 'uuid',
  minLength: 36,
  maxLength: 36,
  examples: ['5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'],
};
described(uuid, UUID_WORDS);
described(lowerCaseUuid, UUID_WORDS);

/** The words of `pagingParameters`, for the query of a list. */
export const pagingWords = {
  limit: {
    description: 'Items per page.',
    override: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
    },
  },
  cursor: {
    description:
      'The `next_cursor` of the previous page, unchanged and with the same filters; `limit` may change. Without it, you get the first page.',
    override: { pattern: '^[0-9A-Za-z_-]+$', minLength: 1, maxLength: MAX_CURSOR_CHARACTERS },
  },
} as const satisfies Record<keyof typeof pagingParameters, Words>;
described(pagingParameters.limit, pagingWords.limit);
described(pagingParameters.cursor, pagingWords.cursor);

/** The words of `waitParameter`. `needed` is the parameter that it needs, and `awaited` the item. */
export function waitWords(needed: string, awaited: string): Words {
  return {
    description: `Whole seconds, only with \`${needed}\`. If the answer would be empty, the service waits for ${awaited}, for at most this time.`,
    override: { type: 'integer', format: 'int32', minimum: 1, maximum: 25 },
  };
}

/** The words of the fields of every page, for a list that has further fields. */
export const pageWords = {
  data: 'The items of the page.',
  has_more: 'Whether more items follow.',
  next_cursor: { description: 'Opaque; null on the last page.', examples: [null] },
} as const satisfies Record<string, Words>;

/** Makes the schema of a page of `item`: the component `id` of the document. */
export function pageOf<Item extends z.ZodType>(item: Item, id: string, description: string) {
  return described(listOf(item), { id, description, fields: pageWords });
}

/** Describes a query parameter that lists values: an array of texts, written with commas. */
export function listWords(items: object, maxItems: number, description: string): Words {
  const array = { type: 'array', items: { type: 'string', ...items }, minItems: 1, maxItems };
  return {
    description,
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.anyOf;
      Object.assign(jsonSchema, array);
    },
    param: { style: 'form', explode: false },
  };
}
