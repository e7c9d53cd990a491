/** The operations that are measured at each size: a request for the time, the store's call for the rows. */

import { acceptKeyed, acceptKeyless } from '../../src/events/store.ts';
import { findEvent, findEvents } from '../../src/events/stream.ts';
import type { FeedFilters } from '../../src/properties/filters.ts';
import { findDocument, findPage, type Position } from '../../src/properties/store.ts';
import { FILTERED_LOCATION } from './listings.ts';
import type { Call } from './load.ts';
import { API_KEY, EVENT, feedCall, ingestCall, PUBLIC_SITE_URL } from './scenarios.ts';

/** `call` is timed. `read` does the same on a database whose reads are counted. */
export type Operation = { name: string; call: Call; read(database: D1Database): Promise<unknown> };

const PAGE = 25;
/** Even the smallest table fills a page of this length under every filter. */
const FILTERED_PAGE = 2;
const STATUSES = [
  ['listed'],
  ['coming_soon'],
  ['sold_out'],
  ['listed', 'coming_soon'],
  ['listed', 'sold_out'],
  ['coming_soon', 'sold_out'],
  ['listed', 'coming_soon', 'sold_out'],
] satisfies FeedFilters['status'][];

/** Returns the reads of the feed. `deep` is the start of a deep page, as a cursor and as a position. */
export function feedOperations(deep: { cursor: string; after: Position }): Operation[] {
  const listed = { filters: { status: ['listed' as const] }, limit: PAGE };
  const filtered = STATUSES.flatMap((status) =>
    [undefined, 'ski' as const].flatMap((type) =>
      [undefined, FILTERED_LOCATION.id].map((locationId): Operation => {
        const filters: FeedFilters = {
          status,
          ...(type && { type }),
          ...(locationId && { location_id: locationId }),
        };
        const query = new URLSearchParams({
          status: status.join(),
          limit: String(FILTERED_PAGE),
          ...(type && { type }),
          ...(locationId && { location_id: locationId }),
        });
        return {
          name: [status.join(), type, locationId && 'one location'].filter(Boolean).join(', '),
          call: feedCall(`?${query}`),
          read: (database) =>
            findPage(database, PUBLIC_SITE_URL, { filters, limit: FILTERED_PAGE }),
        };
      }),
    ),
  );
  return [
    { name: 'first page', call: feedCall(''), read: (db) => findPage(db, PUBLIC_SITE_URL, listed) },
    {
      name: 'page up to 400 deep',
      call: feedCall(`?cursor=${deep.cursor}`),
      read: (database) => findPage(database, PUBLIC_SITE_URL, { ...listed, after: deep.after }),
    },
    {
      name: 'item by slug',
      call: feedCall('/home-41'),
      read: (database) => findDocument(database, PUBLIC_SITE_URL, { slug: 'home-41' }),
    },
    ...filtered,
  ];
}

/** Returns the operations on events. `id` is the id of a stored event. */
export function eventOperations(id: string): Operation[] {
  const read = (path: string): Call => ({
    method: 'GET',
    path: `/api/v1/events${path}`,
    headers: { 'x-api-key': API_KEY },
  });
  const lookup = () => ({
    keyId: crypto.randomUUID(),
    laterId: crypto.randomUUID(),
    fingerprint: 'f'.repeat(64),
    receipt: crypto.randomUUID(),
    now: Date.now(),
    retentionMs: 86_400_000,
  });
  const { aggregate_id } = EVENT;
  const received = { ...EVENT, received_from: null };
  return [
    {
      name: 'ingest, no key',
      call: ingestCall({}),
      read: (db) => acceptKeyless(db, received, { id: crypto.randomUUID(), now: Date.now() }),
    },
    {
      name: 'ingest, fresh keys',
      call: { ...ingestCall({}), hasFreshKeys: true },
      read: (database) => acceptKeyed(database, received, lookup()),
    },
    {
      name: 'list of events',
      call: read(''),
      read: (database) => findEvents(database, { order: 'desc', limit: PAGE }),
    },
    { name: 'one event', call: read(`/${id}`), read: (database) => findEvent(database, id) },
    {
      name: 'events of an aggregate',
      call: read(`?aggregate_id=${aggregate_id}`),
      read: (database) => findEvents(database, { order: 'desc', limit: PAGE, aggregate_id }),
    },
  ];
}
