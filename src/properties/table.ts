/** The feed's tables, for Drizzle and the migrations. A key here is the name of its column. */

import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The columns that the feed filters by, besides `status`: parameters.ts has a filter for each.
 *
 * The import writes these two. A later one goes to the end, and is computed from `source`, so that it covers the
 * listings that are stored already:
 *
 *     bedrooms: integer().generatedAlwaysAs(sql`source->>'$.bedrooms'`, { mode: 'virtual' }),
 *
 * Measured in workerd's D1 with 5,000 listings of 5 KB, beside a plain column: a page of 25 reads 26 rows in 0.12 ms
 * from either (0.12 ms plain); inserting all listings writes as many rows and takes 374 ms (355 ms plain); a new
 * document writes one row with either. The migration takes 2 ms for the column, and for each index 50 ms and one row
 * written per listing. A third filter adds four indexes, a fourth eight.
 */
const filterColumns = {
  location_id: text(),
  type: text(),
};

export type FilterColumn = keyof typeof filterColumns;

/** The names of these columns, with the type that Object.keys does not give. */
export const FILTER_COLUMNS = Object.keys(filterColumns) as FilterColumn[];

/**
 * One row per listing: the columns of filters and order, the imported source, and the documents rendered from it.
 *
 * Each combination of filters has an index that ends in (status, display_order, id), so a page is one range of one
 * index for each status. There is no foreign key and no CHECK: widening either would rebuild the table.
 */
export const properties = sqliteTable(
  'properties',
  {
    id: text().primaryKey(),
    slug: text().notNull(),
    status: text().notNull(),
    ...filterColumns,
    display_order: integer().notNull(),
    /**
     * The listing's place in the list of changes: the next after the newest one, assigned by the transaction of an
     * import. Null for a listing that was never public.
     */
    change_seq: integer(),
    /** The time at which the import applied the change, in milliseconds since 1970; null where `change_seq` is null. */
    changed_at: integer(),
    /** The last public slug of a listing that was hidden. */
    removed_slug: text(),
    /**
     * JSON of a list: the slugs under which the listing was public before, newest first, at most 20. An import that
     * gives one of these slugs to another listing removes it here.
     */
    former_slugs: text().notNull().default('[]'),
    /** The rules and the site address that `document` was rendered for: see `renderingOf`. Another value: out of date. */
    rendering: text().notNull(),
    /** SHA-256 of `source` in Base64: an import reads the sources of those listings only that a file changes. */
    source_hash: text().notNull().default(''),
    // The large texts come last, the one that is read least at the end: SQLite reads through a text to reach the next.
    /** JSON of the `PropertyCard`, rendered with `document`, and null where `document` is. `rendering` holds for both. */
    card: text(),
    /** JSON of the `Property`, sent as it is. A hidden listing has none. */
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
    /** The list of locations is sorted by it: a location without a slug comes after every slug. */
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
 * An import stages its records here, batch by batch, before one transaction applies them all. The transaction empties
 * the table, and inserts one row of kind `applied` with the id of the import.
 */
export const importStaging = sqliteTable('import_staging', {
  /** `location`, `amenity`, `listing`, `applied`, or `guard` for a moment. */
  kind: text().notNull(),
  /** The record's key in its table. */
  key: text().notNull(),
  import_id: text().notNull(),
  /** The record's future row, as a JSON object of its columns, except for the large texts of a listing. */
  row: text().notNull(),
  /** The large texts of a listing's row. The transaction copies them as they are, which keeps it short. */
  source: text(),
  document: text(),
  card: text(),
});

/** Returns every combination of the names, none of them included. */
function combinationsOf<Name>(names: readonly Name[]): Name[][] {
  const combinations: Name[][] = [[]];
  for (const name of names) {
    for (const others of [...combinations]) combinations.push([...others, name]);
  }
  return combinations;
}
