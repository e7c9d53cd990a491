/** Defines the sheets of a workbook. Their columns are derived from the schemas of the records. */

import * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { amenity, property } from '../../../src/properties/openapi/property.ts';
import { isMap, photo, video } from '../catalogue/listing-schemas.ts';
import { type Fields, listingRecord, locationRecord } from '../catalogue/records.ts';

/**
 * The type of a column's cells. A `word` is a key or one of several choices, without outer spaces
 * or upper-case letters. `slugs` is a list in one cell.
 */
export type CellKind = 'text' | 'word' | 'number' | 'boolean' | 'slugs';

export type Column = {
  /** The header, e.g. `title.en` or `visible`. */
  name: string;
  /** The field in the record, e.g. `title` or `web_visible`. */
  field: string;
  /** The language of a translated field. */
  locale?: string;
  kind: CellKind;
  /** The allowed values of a cell, or the sheet whose first column lists them. */
  choices?: readonly string[] | SheetName;
  isHidden?: boolean;
};

/** Headers that differ from the field names in JSON. An import accepts both. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  web_sort_order: 'order',
  sort_order: 'order',
  web_visible: 'visible',
};

/**
 * Fields without a column. They are lists, or other columns (`location`, and `hero` of a photo)
 * represent them.
 */
const NO_COLUMNS = ['location_id', 'hero_photo', 'hero_photo_id', 'photos', 'videos'];

const LISTING: Column = {
  name: 'listing',
  field: 'listing',
  kind: 'word',
  choices: 'listings',
};
const ORDER: Column = { name: 'order', field: 'order', kind: 'number' };
export const HERO: Column = { name: 'hero', field: 'hero', kind: 'boolean' };
/** The hidden column with the row marks of an export: see marks.ts. */
export const AS_OF: Column = { name: 'as of', field: 'as of', kind: 'text', isHidden: true };

const listing = buildColumns(listingRecord, ['slug', 'hid', 'name', 'status', 'type', 'location']);
const feature = buildColumns(property.shape.unique_features.element);
const photoColumns = buildColumns(photo, [
  'web_sort_order',
  'url',
  'alt',
  'section',
  'web_visible',
]);
const videoColumns = buildColumns(video, ['sort_order', 'url', 'type', 'web_visible']);

export const SHEET_NAMES = [
  'listings',
  'photos',
  'videos',
  'features',
  'locations',
  'amenities',
] as const;

export type SheetName = (typeof SHEET_NAMES)[number];

type SheetSpec = {
  columns: readonly Column[];
  kind: 'listing' | 'location' | 'amenity';
  /**
   * Columns that can identify the record of a row. At least one is required. Reports name the
   * first.
   */
  keys: readonly [address: string, ...others: string[]];
};

export const SHEETS: Readonly<Record<SheetName, SheetSpec>> = {
  listings: { columns: [...listing, AS_OF], kind: 'listing', keys: ['slug', 'hid', 'id'] },
  photos: {
    columns: [LISTING, ...photoColumns.slice(0, -1), HERO, ...photoColumns.slice(-1), AS_OF],
    kind: 'listing',
    keys: ['url', 'id'],
  },
  videos: {
    columns: [LISTING, ...videoColumns, AS_OF],
    kind: 'listing',
    keys: ['url', 'id'],
  },
  features: {
    columns: [LISTING, ORDER, ...feature, AS_OF],
    kind: 'listing',
    keys: ['icon_slug'],
  },
  locations: {
    columns: [...buildColumns(locationRecord, ['slug', 'name']), AS_OF],
    kind: 'location',
    keys: ['slug', 'id'],
  },
  amenities: {
    columns: [...buildColumns(amenity, ['slug', 'label']), AS_OF],
    kind: 'amenity',
    keys: ['slug'],
  },
};

/** The sheets that hold lists. Each row is one entry in a list of its listing. */
export const LISTS = {
  photos: { field: 'photos', order: 'web_sort_order' },
  videos: { field: 'videos', order: 'sort_order' },
  features: { field: 'unique_features', order: ORDER.field },
} as const;

export type ListName = keyof typeof LISTS;
export const LIST_NAMES = ['photos', 'videos', 'features'] as const satisfies ListName[];

/**
 * Columns that identify a row, give its position, or describe the list as a whole, such as the hero
 * photo.
 */
const NO_CELLS = ['id', 'listing', 'order', 'hero', AS_OF.name];

/** Returns a sheet's columns that contain values of the row's record. */
export function dataColumns(sheet: SheetName): Column[] {
  return SHEETS[sheet].columns.filter(({ name }) => !NO_CELLS.includes(name));
}

/** Returns the value of a column in a record or a row. */
export function getValue(record: Fields, { field, locale }: Column): unknown {
  const value = record[field];
  if (locale === undefined) return value;
  return isMap(value) ? value[locale] : undefined;
}

/** Returns the path of a column's field in its record, e.g. `title.en`. */
export function fieldPath({ field, locale }: Column): string {
  return locale === undefined ? field : `${field}.${locale}`;
}

export function setValue(record: Fields, { field, locale }: Column, value: unknown): void {
  const texts = record[field];
  record[field] = locale === undefined ? value : { ...(isMap(texts) && texts), [locale]: value };
}

/** Name of the explanatory sheet. An import reads only its `EXPORT_LABEL`. */
export const READ_ME = 'read me';
/** Label of the export's id, which is in the cell to its right. */
export const EXPORT_LABEL = 'This export';

/**
 * Returns a column for each field: the `first` fields, then single values, translations, lists of
 * slugs and the id.
 */
function buildColumns({ shape }: z.ZodObject, first: readonly string[] = []): Column[] {
  const all = Object.entries(shape).flatMap(([field, schema]) => listColumns(field, schema));
  const isText = ({ locale }: Column) => locale !== undefined;
  const rank = (column: Column) => {
    if (column.field === 'id') return 4;
    const index = first.indexOf(column.field);
    if (index !== -1) return (index - first.length) / 100;
    return column.kind === 'slugs' ? 3 : isText(column) ? 2 : 1;
  };
  return all.sort((a, b) => rank(a) - rank(b));
}

/**
 * Returns the columns of a field. The type of their cells follows from the values that the schema
 * accepts.
 */
function listColumns(field: string, schema: z.core.$ZodType): Column[] {
  const accepts = (value: unknown) => z.safeParse(schema, value).success;
  const column = { name: SHORT_NAMES[field] ?? field, field };
  if (NO_COLUMNS.includes(field)) return [];
  if (field === 'id') return [{ ...column, kind: 'word', isHidden: true }];
  if (field === 'location') return [{ ...column, kind: 'word', choices: 'locations' }];
  if (field === 'amenities') return [{ ...column, kind: 'slugs' }];
  // Other lists have their own sheet.
  if (accepts([])) return [];
  if (accepts({})) {
    return LOCALES.map((locale) => ({ name: `${field}.${locale}`, field, locale, kind: 'text' }));
  }
  if (accepts(1)) return [{ ...column, kind: 'number' }];
  if (accepts(true)) return [{ ...column, kind: 'boolean' }];
  const choices = listChoices(schema);
  if (choices !== undefined) return [{ ...column, kind: 'word', choices }];
  return [{ ...column, kind: field === 'slug' ? 'word' : 'text' }];
}

function listChoices(schema: z.core.$ZodType): string[] | undefined {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  const isWrapped = schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  return isWrapped ? listChoices(schema.unwrap()) : undefined;
}
