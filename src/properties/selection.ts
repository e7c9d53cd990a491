/**
 * Cuts an answer to the fields and languages that a client asks for. This is done when the answer is made from
 * stored documents, so that a cached one costs what a whole one costs. Pure.
 */

import * as z from 'zod';
import { LOCALES } from './locale-map.ts';
import type { Selection } from './parameters.ts';
import { locationResource, property } from './resource.ts';

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
