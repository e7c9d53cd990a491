/** The feed's tables. docs/explain/architecture.md has example rows ("What is stored"). */

import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The columns of the filters in parameters.ts, except `status`. If you add a column, compute it from
 * `source`, so that listings that are already stored have it too:
 *
 *     bedrooms: integer().generatedAlwaysAs(sql`source->>'$.bedrooms'`, { mode: 'virtual' }),
 */
const filterColumns = {
  location_id: text(),
  type: text(),
};

export const FILTER_COLUMNS = Object.keys(filterColumns) as (keyof typeof filterColumns)[];

/**
 * One row per listing. Each combination of filters has an index that ends with (status, display_order,
 * id), so that a page reads one index range for each status. The feed's tables have no foreign keys and
 * no CHECK constraints, because changing one would require a migration that rebuilds the table.
 */
export const properties = sqliteTable(
  'properties',
  {
    id: text().primaryKey(),
    slug: text().notNull(),
    status: text().notNull(),
    ...filterColumns,
    display_order: integer().notNull(),
    /** Position in the list of changes; null for a listing that was never public. */
    change_seq: integer(),
    changed_at: integer(),
    /** Last public slug of a hidden listing. */
    removed_slug: text(),
    /** JSON list of at most 20 previous public slugs, newest first. */
    former_slugs: text().notNull().default('[]'),
    /**
     * The rules version and the site with which `document` and `card` were rendered, as
     * `formatRendering` writes them.
     */
    rendering: text().notNull(),
    /** Unused. The column is kept, because migrations never drop a column. */
    source_hash: text().notNull().default(''),
    // The large texts come last, because SQLite reads through a text to reach the next column.
    /** JSON of the `PropertyCard`; null for a hidden listing. */
    card: text(),
    /** JSON of the `Property`; null for a hidden listing. */
    document: text(),
    /** JSON of the `Source`. */
    source: text().notNull(),
    /** `operations.id` of the last change to `source`. The column is last, because a migration added it. */
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
    /** Sort key of the list, in which a location without a slug comes after every slug. */
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
 * The records of an import in progress. One transaction applies all of them, empties the table, and
 * inserts a row with the kind `applied`.
 */
export const importStaging = sqliteTable('import_staging', {
  /** `location`, `amenity`, `listing` or `applied`. Within the transaction, also `guard`. */
  kind: text().notNull(),
  key: text().notNull(),
  import_id: text().notNull(),
  /** JSON of the row to be written, without its large texts. */
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
