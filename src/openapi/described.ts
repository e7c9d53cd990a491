/**
 * The words of the OpenAPI document: descriptions and examples, apart from the schemas that validate.
 *
 * `described` gives a schema its words in the file that writes the document, so that no word is in the
 * deployed bundle. `worded` makes the schema that the document shows.
 */

import * as z from 'zod';

/** The words of a field, or its description alone. zod-openapi reads `param`, `header` and `override`. */
export type Words = string | (z.GlobalMeta & { description: string });

/**
 * The words of a schema. An object needs words for each of its fields but `object`; `undefined` for a field
 * whose schema has words of its own.
 */
export type WordsOf<Schema extends z.ZodType> = z.GlobalMeta &
  (Schema extends z.ZodObject<infer Shape>
    ? { fields: { readonly [Name in Exclude<keyof Shape, 'object'>]: Words | undefined } }
    : { fields?: never });

/** Object schema → the words of its fields. */
const fieldWords = new WeakMap<z.ZodType, Readonly<Record<string, Words | undefined>>>();
/** Schema → the same with its words, so that one schema stays one component. */
const wordedSchemas = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Gives a schema its words, wherever the document shows it, and returns it. */
export function described<Schema extends z.ZodType>(
  schema: Schema,
  { fields, ...words }: WordsOf<Schema>,
): Schema {
  if (wordedSchemas.has(schema)) throw new Error('the document shows this schema already');
  z.globalRegistry.add(schema, words);
  if (fields !== undefined) fieldWords.set(schema, fields);
  return schema;
}

/** Returns the schema with the words that it, its fields and its members were given. */
export function worded<Schema extends z.ZodType>(schema: Schema): Schema;
export function worded(schema: z.core.$ZodType): z.ZodType;
export function worded(schema: z.core.$ZodType): z.ZodType {
  const known = wordedSchemas.get(schema) ?? rebuilt(schema);
  wordedSchemas.set(schema, known);
  return known;
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

/** Copies a schema with other parts. The copy takes over the words of the schema itself. */
function withDefinition(schema: z.ZodType, parts: object): z.ZodType {
  const copy = schema.clone({ ...schema.def, ...parts });
  const words = z.globalRegistry.get(schema);
  if (words !== undefined) z.globalRegistry.add(copy, words);
  return copy;
}
