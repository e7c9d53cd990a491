/** Listings as rows of the `properties` table, and batches of rows that D1 takes at once. Pure. */

import { cardOf, render, renderingOf } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';
import type { properties } from '../../src/properties/table.ts';
import { batchesOf } from '../database/batches.ts';

/** A listing, and the row to be staged for it: JSON of the columns that its source gives. */
export type StagedRow = { listing: Source; json: string };

/** Returns the row to be staged for a listing. */
export function stagedRowOf(listing: Source): StagedRow {
  return { listing, json: JSON.stringify({ ...keyColumnsOf(listing), source: listing }) };
}

/** Returns the whole row of a rendered listing. */
export function renderedRowOf(listing: Source, publicSiteUrl: string) {
  const document = render(listing, publicSiteUrl);
  return {
    ...keyColumnsOf(listing),
    source: JSON.stringify(listing),
    document: document && JSON.stringify(document),
    card: document && JSON.stringify(cardOf(document)),
    rendering: renderingOf(publicSiteUrl),
  } satisfies typeof properties.$inferInsert;
}

/** Splits rows into batches, each of which travels as one bound JSON text. */
export function jsonBatchesOf<Row extends { json: string }>(rows: Iterable<Row>): Generator<Row[]> {
  return batchesOf(rows, ({ json }) => Buffer.byteLength(json));
}

/** Returns a batch as one JSON array, for `json_each`. */
export function jsonOf(batch: readonly { json: string }[]): string {
  return `[${batch.map(({ json }) => json).join()}]`;
}

/** Returns the columns by which a listing is found and ordered. */
function keyColumnsOf(listing: Source) {
  return {
    id: listing.id,
    slug: listing.slug,
    status: listing.status,
    type: listing.type,
    location_id: listing.location?.id ?? null,
    display_order: listing.display_order,
  };
}
