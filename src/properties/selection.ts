/**
 * `fields` and `locale`: the part of a listing that a client asks for. An answer is cut from the stored
 * document when it is made, so that a cached one costs what a whole one costs. Pure.
 */

import * as z from 'zod';
import { pagingParameters } from '../http/paging.ts';
import { listMeta, namesIn } from '../http/query.ts';
import { isNonEmpty } from '../http/validate.ts';
import { LOCALES } from './locale-map.ts';
import { locationResource } from './locations.ts';
import { property } from './resource.ts';

const FIELDS = fieldNames();

/** The query parameter that chooses languages. */
export const localeParameter = {
  locale: namesIn(LOCALES)
    .optional()
    .meta(
      listMeta(
        LOCALES,
        'Only these languages of every text, comma-separated. A language that a text lacks is absent: there is no fallback.',
      ),
    ),
};

/** The query parameters that choose a part of each listing. */
export const selectionParameters = {
  fields: namesIn(FIELDS)
    .optional()
    .meta(
      listMeta(
        FIELDS,
        'Only these fields of a listing, comma-separated. `object` and `id` are always there, and the order is that of the resource.',
      ),
    ),
  ...localeParameter,
};

/** The query parameters of the list of changes. */
export const changeParameters = z.object({
  ...selectionParameters,
  limit: pagingParameters.limit,
  after: pagingParameters.cursor.meta({
    description:
      'The `next_cursor` or the `resume_cursor` of any earlier answer, unchanged. Leave it out to begin with the whole public catalogue.',
  }),
});

/** The query parameters of the list of locations. */
export const locationParameters = z.object({ ...localeParameter, ...pagingParameters });

/** The query parameters of a single listing. */
export const itemParameters = z.object(selectionParameters);

/** The choice, each name once and in one order. A list that chooses everything is left out. */
export type Selection = { fields?: readonly string[]; locale?: readonly string[] };

/** Returns the canonical form of parsed parameters: equal answers have equal selections. */
export function selectionOf(asked: {
  fields?: readonly string[] | undefined;
  locale?: readonly string[] | undefined;
}): Selection {
  const fields = FIELDS.filter(
    (name) => name === 'object' || name === 'id' || asked.fields?.includes(name),
  );
  return {
    ...(asked.fields && fields.length < FIELDS.length && { fields }),
    ...(asked.locale && asked.locale.length < LOCALES.length && { locale: asked.locale }),
  };
}

/** Cuts a location, which is JSON text of one, to the languages chosen. */
export function cutLocation(document: string, { locale }: Selection): string {
  if (locale === undefined) return document;
  return JSON.stringify(cutTexts(locationResource, JSON.parse(document), locale));
}

/** Cuts a listing, which is JSON text of a `Property`, to what is chosen. */
export function cutProperty(document: string, { fields, locale }: Selection): string {
  if (fields === undefined && locale === undefined) return document;
  const listing: Record<string, unknown> = JSON.parse(document);
  const chosen = Object.fromEntries(
    Object.entries(listing).filter(([name]) => fields === undefined || fields.includes(name)),
  );
  return JSON.stringify(locale === undefined ? chosen : cutTexts(property, chosen, locale));
}

/** Returns a value with the chosen languages of each text that its schema has in it, at any depth. */
export function cutTexts(
  schema: z.core.$ZodType,
  value: unknown,
  locale: readonly string[],
): unknown {
  if (schema instanceof z.ZodNullable) {
    return value === null ? null : cutTexts(schema.unwrap(), value, locale);
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((entry: unknown) => cutTexts(schema.element, entry, locale));
  }
  if (schema instanceof z.ZodObject && typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (isLocaleMap(schema)) {
      return Object.fromEntries(entries.filter(([language]) => locale.includes(language)));
    }
    return Object.fromEntries(
      entries.map(([name, each]) => {
        const field: z.core.$ZodType | undefined = schema.shape[name];
        return [name, field ? cutTexts(field, each, locale) : each];
      }),
    );
  }
  return value;
}

function isLocaleMap({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).join() === LOCALES.join();
}

/** The fields of a listing, in its order. */
function fieldNames(): [string, ...string[]] {
  const names = Object.keys(property.shape);
  if (!isNonEmpty(names)) throw new Error('a property has fields');
  return names;
}
