/** The lists of the API, and rows for the tests that read each of them. */

import { env } from 'cloudflare:workers';
import { sourceOf, storeListings } from './listings.ts';

export type List = {
  path: string;
  query: string;
  /** The same filters, written in another way. */
  same: string;
  /** Other filters. */
  others: string[];
  /** Selects the ids of the list in its order; the slugs if its items have no id. */
  sql: string;
  pager?: string;
};

const EVENTS = {
  path: '/api/v1/events',
  sql: `select id from events where type in ('booking.created', 'booking.cancelled')
    and aggregate_type = 'booking' and created_at > 3 order by seq`,
};
const LISTINGS = {
  query: 'type=beach&status=listed,sold_out',
  same: 'status=sold_out&status=listed,listed&type=beach',
  others: ['type=beach', 'type=ski&status=listed,sold_out', 'status=listed,sold_out'],
  sql: `select id from properties where type = 'beach' and status in ('listed', 'sold_out')
    order by display_order, id`,
};

export const lists: List[] = [
  {
    ...EVENTS,
    query:
      'type=booking.created,booking.cancelled&aggregate_type=booking&created_after=1970-01-01T00:00:00.003Z',
    same: 'created_after=1970-01-01T02:00:00.0030%2B02:00&aggregate_type=booking&type=booking.cancelled&type=booking.created',
    others: ['', 'type=booking.created', 'order=asc'],
    sql: `${EVENTS.sql} desc`,
  },
  {
    ...EVENTS,
    query:
      'order=asc&type=booking.created,booking.cancelled&aggregate_type=booking&created_after=1970-01-01T00:00:00.003Z',
    same: 'created_after=1970-01-01T00:00:00.003Z&type=booking.cancelled,booking.created&aggregate_type=booking&order=asc',
    others: ['order=asc', 'order=desc'],
  },
  { path: '/api/v1/web/properties', ...LISTINGS },
  { path: '/api/v1/web/property-cards', ...LISTINGS },
  {
    path: '/api/v1/web/property-changes',
    query: '',
    same: 'locale=en',
    others: [],
    sql: `select id from properties where status <> 'hidden' order by change_seq`,
    pager: 'after',
  },
  {
    path: '/api/v1/web/locations',
    query: '',
    same: 'locale=en',
    others: [],
    sql: 'select id from locations order by slug is null, slug, id',
  },
];

/**
 * Stores a row for each list. The slugs must differ. A higher index is an earlier time of an event.
 */
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
