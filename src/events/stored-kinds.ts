/**
 * Stored events as the OpenAPI document describes them: a union by `type`, with a member for each kind,
 * so that generated clients know the payload once they know the type.
 *
 * An event that was accepted under an earlier schema is read back as it was stored. So a stored payload
 * has the types of the catalogue and none of its bounds.
 */

import * as z from 'zod';
import { CATALOGUE, EARLIER, type EventType } from './catalogue.ts';
import { nameOfKind, unionByKind } from './kinds.ts';
import { storedEvent } from './resource.ts';

type Payload = z.ZodObject;

/** A stored event of any kind. */
export type StoredEvent = {
  [Kind in EventType]: Omit<z.output<typeof storedEvent>, 'type' | 'payload'> & {
    type: Kind;
    payload: z.output<(typeof CATALOGUE)[Kind]>;
  };
}[EventType];

/** A stored event of any kind, for the document. Nothing is parsed with it. */
export const storedEventOfAnyKind = storedEventOf(CATALOGUE, EARLIER);

/**
 * Makes the union of the stored events of all kinds: those that are accepted, and those that once were.
 * `earlier` has forms of fields, and kinds, that are no longer accepted.
 */
export function storedEventOf(
  catalogue: Readonly<Record<string, Payload>>,
  earlier: Readonly<Record<string, Payload>>,
) {
  const kinds = [...new Set([...Object.keys(catalogue), ...Object.keys(earlier)])];
  const members = kinds.map((kind) => {
    const forms = [catalogue[kind], earlier[kind]].filter((form) => form !== undefined);
    const name = `Stored${nameOfKind(kind)}`;
    return storedEvent
      .extend({
        type: z.literal(kind).meta({ description: 'Kind of the event.' }),
        payload: storedPayload(forms).meta({
          id: `${name}Payload`,
          description:
            'The event data as it was accepted, unknown fields included: the types are those of today, the bounds may have been others.',
          override: ({ jsonSchema }) => keepTypes(jsonSchema),
        }),
      })
      .meta({ id: name, description: `A stored event of the kind \`${kind}\`.` });
  });
  return unionByKind('type', members).meta({
    id: 'StoredEvent',
    description:
      'A domain event with its data. A later version of the service may know further kinds: pass over those that you do not know.',
  });
}

/** Makes a payload whose fields have any of the forms. */
function storedPayload(forms: readonly Payload[]) {
  const names = [...new Set(forms.flatMap(({ shape }) => Object.keys(shape)))];
  const fields = names.map((name) => {
    const [first, ...others] = forms.flatMap(({ shape }) => shape[name] ?? []);
    if (first === undefined) throw new Error(`${name} has no form`);
    return [name, z.optional(others.length === 0 ? first : z.union([first, ...others]))];
  });
  return z.looseObject(Object.fromEntries(fields));
}

/** The keywords of a schema besides its bounds. */
const TYPES = ['type', 'properties', 'items', 'anyOf', 'additionalProperties', 'id', '$ref'];
const WORDS = ['description', 'examples', 'title'];

/** Removes the bounds from the fields of a schema, and from what is in them. */
function keepTypes(schema: object): void {
  if ('properties' in schema) Object.values(schema.properties ?? {}).forEach(removeBounds);
}

function removeBounds(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('type' in schema) {
    const types = [schema.type].flat().map((type) => (type === 'integer' ? 'number' : type));
    schema.type = types.length === 1 ? types[0] : types;
  }
  for (const name of Object.keys(schema)) {
    if (![...TYPES, ...WORDS].includes(name)) Reflect.deleteProperty(schema, name);
  }
  const inside = z
    .object({ anyOf: z.array(z.unknown()).default([]), items: z.unknown().optional() })
    .loose()
    .parse(schema);
  [...inside.anyOf, inside.items].forEach(removeBounds);
  keepTypes(schema);
}
