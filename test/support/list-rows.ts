/** Rows for the tests that read every list. */

import { env } from 'cloudflare:workers';
import { sourceOf, storeListings } from './listings.ts';

/** Stores a row for each list. The slugs must differ. A higher index is an earlier time of an event. */
export async function storeRow(index: number, display_order: number, slug: string | null) {
  const id = crypto.randomUUID();
  const type = index % 2 === 0 ? 'booking.created' : 'booking.cancelled';
  await env.DB.batch([
    env.DB.prepare(
      `insert into events (id, type, aggregate_type, aggregate_id, created_at, payload)
       values (?, ?, 'booking', 'b', ?, '{}')`,
    ).bind(id, type, 34 - index),
    env.DB.prepare(`insert into locations (id, slug, name) values (?, ?, '{}')`).bind(id, slug),
  ]);
  const status = index % 2 === 0 ? 'listed' : 'sold_out';
  await storeListings(env.DB, [sourceOf({ type: 'beach', status, display_order })]);
}
