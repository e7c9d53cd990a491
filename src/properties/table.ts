/** The feed's tables. docs/explain/architecture.md, "What is stored", has examples. */

import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The columns that the feed filters by, besides `status`: parameters.ts has a filter for each. A
 * later one is computed from `source`, so that it covers stored listings:
 *
 *     bedrooms: integer().generatedAlwaysAs(sql`source->>'$.bedrooms'`, { mode: 'virtual' }),
 */
const filterColumns = {
  location_id: text(),
  type: text(),
};

export const FILTER_COLUMNS = Object.keys(filterColumns) as (keyof typeof filterColumns)[];

/**
 * Each combination of filters has an index that ends in (status, display_order, id), so a page is
 * one range of one index for each status. There is no foreign key and no CHECK: widening either
 * would rebuild the table.
 */
export const properties = sqliteTable(
  'properties',
  {
    id: text().primaryKey(),
    slug: text().notNull(),
    status: text().notNull(),
    ...filterColumns,
    display_order: integer().notNull(),
    /** The position in the list of changes; null for a listing that was never public. */
    change_seq: integer(),
    changed_at: integer(),
    /** The last public slug of a hidden listing. */
    removed_slug: text(),
    /** JSON of a list: at most 20 earlier public slugs, newest first. */
    former_slugs: text().notNull().default('[]'),
    /** The `formatRendering` of `document` and `card`. */
    rendering: text().notNull(),
    /** Unused: a migration drops no column. */
    source_hash: text().notNull().default(''),
    // The large texts come last: SQLite reads through a text to reach the next.
    /** JSON of the `PropertyCard`; null where `document` is. */
    card: text(),
    /** JSON of the `Property`; null for a hidden listing. */
    document: text(),
    /** JSON of the `Source`. */
    source: text().notNull(),
    /** The `operations.id` that changed `source` last. Last, because a migration added it. */
    operation: text(),
  },
  (table) => [
    index('properties_by_change').on(table.change_seq),
    index('properties_with_former_slugs')
      .on(table.former_slugs)
      .where(sql`${table.former_slugs} <> '[]'`),
    uniqueIndex('properties_slug').on(table.slug),
    ...combine(FILTER_COLUMNS).map((names) => {
      const filters = names.map((name) => table[name]);
      const [first, ...rest] = [...filters, table.status, table.display_order, table.id] as const;
      return index(
        `properties_by_${names.map((name) => name.replace(/_id$/, '')).join('_and_') || 'status'}`,
      ).on(first, ...rest);
    }),
  ],
);

/** `name` is JSON of a `LocaleMap`. */
export const locations = sqliteTable(
  'locations',
  {
    id: text().primaryKey(),
    slug: text(),
    /** Sorts the list: a location without a slug comes after every slug. */
    sort_slug: text().generatedAlwaysAs(sql`coalesce(slug, '~')`, { mode: 'virtual' }),
    name: text().notNull(),
  },
  (table) => [
    uniqueIndex('locations_slug').on(table.slug),
    index('locations_by_sort_slug').on(table.sort_slug, table.id),
  ],
);

/** `label` is JSON of a `LocaleMap`. */
export const amenities = sqliteTable('amenities', {
  slug: text().primaryKey(),
  label: text().notNull(),
});

/**
 * The records of an import, before one transaction applies them all, empties the table, and inserts
 * one row of kind `applied`.
 */
export const importStaging = sqliteTable('import_staging', {
  /** `location`, `amenity`, `listing`, `applied`, or `guard` for a moment. */
  kind: text().notNull(),
  key: text().notNull(),
  import_id: text().notNull(),
  /** JSON of the future row, without its large texts. */
  row: text().notNull(),
  source: text(),
  document: text(),
  card: text(),
});

function combine<Name>(names: readonly Name[]): Name[][] {
  const combinations: Name[][] = [[]];
  for (const name of names) {
    for (const others of [...combinations]) combinations.push([...others, name]);
  }
  return combinations;
}
