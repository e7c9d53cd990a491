/** The sheets of a workbook and their columns, which follow from the schemas of the records. */

import * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { amenity, property } from '../../../src/properties/openapi/property.ts';
import { isMap, photo, video } from '../catalogue/listing-schemas.ts';
import { listingRecord, locationRecord, type Patch } from '../catalogue/records.ts';

/**
 * `word` is a key or a choice, which has no spaces at its ends and no upper case. `slugs` is a list
 * in one cell.
 */
export type CellKind = 'text' | 'word' | 'number' | 'boolean' | 'slugs';

export type Column = {
  /** The header, e.g. `title.en`, `visible`. */
  name: string;
  /** The field in the record, e.g. `title`, `web_visible`. */
  field: string;
  /** The language of a text. */
  locale?: string;
  kind: CellKind;
  /** The words that a cell may have, or the sheet whose first column has them. */
  choices?: readonly string[] | SheetName;
  isHidden?: boolean;
};

/** The headers that differ from the field in JSON, which is read too. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  web_sort_order: 'order',
  sort_order: 'order',
  web_visible: 'visible',
};

/** A list, or named by another column: `location`, and `hero` of a photo. */
const NO_COLUMNS = ['location_id', 'hero_photo', 'hero_photo_id', 'photos', 'videos'];

const LISTING: Column = {
  name: 'listing',
  field: 'listing',
  kind: 'word',
  choices: 'listings',
};
const ORDER: Column = { name: 'order', field: 'order', kind: 'number' };
export const HERO: Column = { name: 'hero', field: 'hero', kind: 'boolean' };
/** The row mark of an export, see marks.ts. */
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
  /** One of these columns is needed: it identifies the record of a row. Reports name the first. */
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

/** A row of these sheets is an entry of a list of its listing. */
export const LISTS = {
  photos: { field: 'photos', order: 'web_sort_order' },
  videos: { field: 'videos', order: 'sort_order' },
  features: { field: 'unique_features', order: ORDER.field },
} as const;

export type ListName = keyof typeof LISTS;
export const LIST_NAMES = ['photos', 'videos', 'features'] as const satisfies ListName[];

/** Columns that identify or place a row, or belong to a complete list, such as its hero photo. */
const NO_CELLS = ['id', 'listing', 'order', 'hero', AS_OF.name];

/** Returns the columns whose cells are values of the record of their row. */
export function dataColumns(sheet: SheetName): Column[] {
  return SHEETS[sheet].columns.filter(({ name }) => !NO_CELLS.includes(name));
}

/** Returns the value of a column in a record, or in a row of its sheet. */
export function getValue(record: Patch, { field, locale }: Column): unknown {
  const value = record[field];
  if (locale === undefined) return value;
  return isMap(value) ? value[locale] : undefined;
}

/** e.g. `title.en` */
export function fieldPath({ field, locale }: Column): string {
  return locale === undefined ? field : `${field}.${locale}`;
}

export function setValue(record: Patch, { field, locale }: Column, value: unknown): void {
  const texts = record[field];
  record[field] = locale === undefined ? value : { ...(isMap(texts) && texts), [locale]: value };
}

/** Name of the sheet that an import ignores, except for its `EXPORT_LABEL`. */
export const READ_ME = 'read me';
/** The cell at the right has the id of the export. */
export const EXPORT_LABEL = 'This export';

/** The first columns as named, then single values, texts and slugs, and the id at the right. */
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

/** The kind of the cells follows from the values that the schema accepts. */
function listColumns(field: string, schema: z.core.$ZodType): Column[] {
  const accepts = (value: unknown) => z.safeParse(schema, value).success;
  const column = { name: SHORT_NAMES[field] ?? field, field };
  if (NO_COLUMNS.includes(field)) return [];
  if (field === 'id') return [{ ...column, kind: 'word', isHidden: true }];
  if (field === 'location') return [{ ...column, kind: 'word', choices: 'locations' }];
  if (field === 'amenities') return [{ ...column, kind: 'slugs' }];
  // Other lists have a sheet.
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
