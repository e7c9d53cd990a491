/** The feed's tables, as Drizzle and the migrations know them. */

import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * One row a listing: what filters and order need, what was imported, and the answer made from it.
 *
 * Every index that pages are read by ends in (status, display_order, id), so that a page of any filter is one range of one
 * index for each status. There is no foreign key and no CHECK: widening either would rebuild the
 * table.
 */
export const properties = sqliteTable(
  'properties',
  {
    id: text().primaryKey(),
    slug: text().notNull(),
    status: text().notNull(),
    type: text(),
    locationId: text('location_id'),
    displayOrder: integer('display_order').notNull(),
    // What a page reads stands before what it does not: SQLite walks through a large text to what is behind it.
    /** What rendered `document`: see `renderingOf`. Another value: the document is out of date. */
    rendering: text().notNull(),
    /** Its wire resource: JSON of `Property`, sent as it stands. A hidden listing has none. */
    document: text(),
    /** The listing as imported, its location and amenities resolved into it: JSON of `Source`. */
    source: text().notNull(),
  },
  (t) => [
    uniqueIndex('properties_slug').on(t.slug),
    index('properties_by_status').on(t.status, t.displayOrder, t.id),
    index('properties_by_type').on(t.type, t.status, t.displayOrder, t.id),
    index('properties_by_location').on(t.locationId, t.status, t.displayOrder, t.id),
    index('properties_by_location_and_type').on(
      t.locationId,
      t.type,
      t.status,
      t.displayOrder,
      t.id,
    ),
  ],
);

/** The places that listings name: the store that an import resolves references in. */
export const locations = sqliteTable(
  'locations',
  {
    id: text().primaryKey(),
    slug: text(),
    /** JSON of a `LocaleMap`. */
    name: text().notNull(),
  },
  (t) => [uniqueIndex('locations_slug').on(t.slug)],
);

/** The amenities that listings name. */
export const amenities = sqliteTable('amenities', {
  slug: text().primaryKey(),
  /** JSON of a `LocaleMap`. */
  label: text().notNull(),
});

/**
 * Where an import puts its records, batch by batch, before one batch applies them all. That batch
 * empties it, of what a broken-off import left too, and leaves one row of kind `applied`: the id of
 * the import that was applied last.
 */
export const importStaging = sqliteTable('import_staging', {
  /** `location`, `amenity` or `property`, and the record's key in its table. */
  kind: text().notNull(),
  key: text().notNull(),
  importId: text('import_id').notNull(),
  /** The row to be, as a JSON object of its columns. */
  row: text().notNull(),
});
