/** Makes listings from a few fields and stores them like an import. */

import * as z from 'zod';
import { amenity, location } from '../../src/properties/openapi/property.ts';
import type { Source } from '../../src/properties/source.ts';
import { listingFields } from '../../tools/import/catalogue/listing-schemas.ts';
import { renderRow } from '../../tools/import/plan/rows.ts';

export const PUBLIC_SITE_URL = 'https://www.example.com';

/** The time at which every stored listing was last changed: 2027-01-15T08:00:00.000Z. */
const CHANGED_AT = 1_800_000_000_000;

export const source: z.ZodType<Source> = z.strictObject({
  ...listingFields,
  location: location.nullable(),
  amenities: z.array(amenity),
});

type Fields = Partial<Source> & { display_order?: number };

/** Makes a listing. Missing fields get default values. */
export function makeListing(fields: Fields = {}): Source {
  const id = fields.id ?? crypto.randomUUID();
  return source.parse({
    id,
    slug: `home-${id.slice(0, 13)}x`,
    name: 'Test home',
    status: 'listed',
    display_order: 0,
    location: null,
    amenities: [],
    ...fields,
  });
}

/**
 * Stores listings, and replaces listings with the same id. Writes 100 rows per statement. The
 * public listings become the newest changes in the given order.
 */
export async function storeListings(database: D1Database, sources: readonly Source[]) {
  for (let start = 0; start < sources.length; start += 100) {
    const batch = sources.slice(start, start + 100);
    const rows = batch.map((listing) => renderRow(listing, PUBLIC_SITE_URL).columns);
    const columns = Object.keys(rows[0] ?? {});
    await database
      .prepare(
        `INSERT OR REPLACE INTO properties (change_seq, changed_at, ${columns.join(', ')})
         SELECT
           iif(new.value->>'status' = 'hidden', NULL,
             (SELECT coalesce(max(change_seq), 0) FROM properties) + 1 + new.key),
           iif(new.value->>'status' = 'hidden', NULL, ?2),
           ${columns.map((name) => `new.value->>'${name}'`).join(', ')}
         FROM json_each(?1) AS new`,
      )
      .bind(JSON.stringify(rows), CHANGED_AT)
      .run();
  }
  const raise =
    'UPDATE database_identity SET catalogue_number = catalogue_number + 1, catalogue_import = ?';
  await database.prepare(raise).bind(crypto.randomUUID()).run();
}
