/** Listings for tests: made from a few fields, stored as an import would store them. */

import { renderedRowOf } from '../../src/properties/row.ts';
import { type Source, source } from '../../src/properties/source.ts';

export const PUBLIC_SITE_URL = 'https://www.example.com';

type Fields = Partial<Source> & { display_order?: number };

/** A stored listing with what is not given left at its default. */
export function sourceOf(fields: Fields = {}): Source {
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

/** Stores listings, a hundred rows a statement. */
export async function storeListings(database: D1Database, sources: readonly Source[]) {
  for (let start = 0; start < sources.length; start += 100) {
    const batch = sources.slice(start, start + 100);
    const rows = batch.map((listing) => renderedRowOf(listing, PUBLIC_SITE_URL));
    await database
      .prepare(
        `INSERT INTO properties (id, slug, status, type, location_id, display_order, source, document, rendering)
         SELECT r.value->>'id', r.value->>'slug', r.value->>'status', r.value->>'type', r.value->>'location_id',
                r.value->>'display_order', r.value->>'source', r.value->>'document', r.value->>'rendering'
         FROM json_each(?) AS r`,
      )
      .bind(JSON.stringify(rows))
      .run();
  }
}
