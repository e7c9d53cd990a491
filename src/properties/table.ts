/** The feed's tables, as Drizzle and the migrations know them. A key is its column's name. */

import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The columns that the feed filters by, besides `status`: filters.ts has a filter for each.
 *
 * The first two are written by the import. A later one is computed from `source`, so that it reaches
 * the listings that are stored already, at the end of the list:
 * `bedrooms: integer().generatedAlwaysAs(sql`source->>'$.bedrooms'`, { mode: 'virtual' })`.
 * Measured in workerd's D1 with 5,000 listings of 5 KB, against a plain column: a page of 25 reads 26
 * rows in 0.12 ms with either; an insert writes the same rows and takes 375 ms instead of 355 in all;
 * a changed document writes one row with either. Adding the column takes 2 ms, and each of its
 * indexes 50 ms and a row written per listing. A third filter has four indexes, a fourth eight.
 */
const filterColumns = {
  location_id: text(),
  type: text(),
};

export type FilterColumn = keyof typeof filterColumns;

// Object.keys forgets the names.
const FILTER_COLUMNS = Object.keys(filterColumns) as FilterColumn[];

/**
 * One row a listing: what filters and order need, what was imported, and the answer made from it.
 *
 * Each combination of filters has an index that ends in (status, display_order, id), so a page is one
 * range of one index for each status. There is no foreign key and no CHECK: widening either would
 * rebuild the table.
 */
export const properties = sqliteTable(
  'properties',
  {
    id: text().primaryKey(),
    slug: text().notNull(),
    status: text().notNull(),
    ...filterColumns,
    display_order: integer().notNull(),
    // What a page reads stands before what it does not: SQLite walks through a large text to what is behind it.
    /** Names what rendered `document`: see `renderingOf`. Another value: the document is out of date. */
    rendering: text().notNull(),
    /** JSON of the listing's `Property`, sent as it stands. A hidden listing has none. */
    document: text(),
    /** JSON of the listing's `Source`. */
    source: text().notNull(),
  },
  (table) => [
    uniqueIndex('properties_slug').on(table.slug),
    ...combinationsOf(FILTER_COLUMNS).map((names) => {
      const filters = names.map((name) => table[name]);
      const [first, ...rest] = [...filters, table.status, table.display_order, table.id] as const;
      return index(`properties_by_${names.join('_and_').replaceAll('_id', '') || 'status'}`).on(
        first,
        ...rest,
      );
    }),
  ],
);

/** The locations that listings files have named, for later files to refer to. */
export const locations = sqliteTable(
  'locations',
  {
    id: text().primaryKey(),
    slug: text(),
    /** JSON of a `LocaleMap`. */
    name: text().notNull(),
  },
  (table) => [uniqueIndex('locations_slug').on(table.slug)],
);

/** The amenities that listings files have named. */
export const amenities = sqliteTable('amenities', {
  slug: text().primaryKey(),
  /** JSON of a `LocaleMap`. */
  label: text().notNull(),
});

/**
 * Where an import puts its records, batch by batch, before one batch applies them all. That batch
 * empties the table, of what interrupted imports left too, and leaves one row of kind `applied`: the
 * id of the import that was applied last.
 */
export const importStaging = sqliteTable('import_staging', {
  /** `location`, `amenity` or `property`, and the record's key in its table. */
  kind: text().notNull(),
  key: text().notNull(),
  import_id: text().notNull(),
  /** The row to be, as a JSON object of its columns. */
  row: text().notNull(),
});

/** Returns every combination of the names, the empty one included. A name added at the end leaves the others as they are. */
function combinationsOf<Name>(names: readonly Name[]): Name[][] {
  const combinations: Name[][] = [[]];
  for (const name of names) {
    for (const others of [...combinations]) combinations.push([...others, name]);
  }
  return combinations;
}
