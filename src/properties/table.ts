/** The feed's tables. docs/explain/architecture.md, "What is stored", has examples. */

import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The columns that the feed filters by, besides `status`: parameters.ts has a filter for each.
 *
 * The import writes these two. A later one is computed from `source`, so that it covers stored
 * listings:
 *
 *     bedrooms: integer().generatedAlwaysAs(sql`source->>'$.bedrooms'`, { mode: 'virtual' }),
 *
 * It is as fast as a plain column (0.12 ms for 25 of 5,000). A third filter adds four indexes, a
 * fourth eight.
 */
const filterColumns = {
  location_id: text(),
  type: text(),
};

export const FILTER_COLUMNS = Object.keys(filterColumns) as (keyof typeof filterColumns)[];

/**
 * One row per listing. Each combination of filters has an index that ends in (status,
 * display_order, id), so a page is one range of one index for each status. There is no foreign key
 * and no CHECK: widening either would rebuild the table.
 */
export const properties = sqliteTable(
  'properties',
  {
    id: text().primaryKey(),
    slug: text().notNull(),
    status: text().notNull(),
    ...filterColumns,
    display_order: integer().notNull(),
    /** The place in the list of changes; null for a listing that was never public. */
    change_seq: integer(),
    /** Milliseconds since the epoch; null where `change_seq` is null. */
    changed_at: integer(),
    /** The last public slug of a hidden listing. */
    removed_slug: text(),
    /** JSON of a list: at most 20 earlier public slugs, of no other listing now, newest first. */
    former_slugs: text().notNull().default('[]'),
    /** The `renderingOf` of `document` and `card`. They are out of date if it has changed. */
    rendering: text().notNull(),
    /** SHA-256 of `source` in Base64, so that an import reads only the sources that differ. */
    source_hash: text().notNull().default(''),
    // The large texts come last: SQLite reads through a text to reach the next.
    /** JSON of the `PropertyCard`; null where `document` is. */
    card: text(),
    /** JSON of the `Property`; null for a hidden listing. */
    document: text(),
    /** JSON of the `Source`. */
    source: text().notNull(),
  },
  (table) => [
    index('properties_by_change').on(table.change_seq),
    index('properties_with_former_slugs')
      .on(table.former_slugs)
      .where(sql`${table.former_slugs} <> '[]'`),
    uniqueIndex('properties_slug').on(table.slug),
    ...combinationsOf(FILTER_COLUMNS).map((names) => {
      const filters = names.map((name) => table[name]);
      const [first, ...rest] = [...filters, table.status, table.display_order, table.id] as const;
      return index(
        `properties_by_${names.map((name) => name.replace(/_id$/, '')).join('_and_') || 'status'}`,
      ).on(first, ...rest);
    }),
  ],
);

/** The locations that listings files have named, for later files to refer to. */
export const locations = sqliteTable(
  'locations',
  {
    id: text().primaryKey(),
    slug: text(),
    /** Sorts the list: a location without a slug comes after every slug. */
    sort_slug: text().generatedAlwaysAs(sql`coalesce(slug, '~')`, { mode: 'virtual' }),
    /** JSON of a `LocaleMap`. */
    name: text().notNull(),
  },
  (table) => [
    uniqueIndex('locations_slug').on(table.slug),
    index('locations_by_sort_slug').on(table.sort_slug, table.id),
  ],
);

/** The amenities that listings files have named. */
export const amenities = sqliteTable('amenities', {
  slug: text().primaryKey(),
  /** JSON of a `LocaleMap`. */
  label: text().notNull(),
});

/**
 * An import stages its records here, before one transaction applies them all, empties the table,
 * and inserts one row of kind `applied` with the id of the import.
 */
export const importStaging = sqliteTable('import_staging', {
  /** `location`, `amenity`, `listing`, `applied`, or `guard` for a moment. */
  kind: text().notNull(),
  key: text().notNull(),
  import_id: text().notNull(),
  /** The record's future row: a JSON object of its columns, without the large texts. */
  row: text().notNull(),
  source: text(),
  document: text(),
  card: text(),
});

/** Returns every combination of the names, the empty one included. */
function combinationsOf<Name>(names: readonly Name[]): Name[][] {
  const combinations: Name[][] = [[]];
  for (const name of names) {
    for (const others of [...combinations]) combinations.push([...others, name]);
  }
  return combinations;
}
