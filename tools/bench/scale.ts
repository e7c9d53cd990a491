/**
 * Measures how the time of each operation grows with the tables: the time at each size, and the ratio of the last to
 * the first.
 */

import { type Column, median, number, tableHead, tableLine } from './figures.ts';
import { fillEvents, fillListings } from './fill.ts';
import { type Call, startLoad } from './load.ts';
import { buildProduction, startWithListings } from './production.ts';
import type { Rounds } from './rates.ts';
import {
  deepCursor,
  EVENT,
  FRESH_INGEST,
  feedCall,
  ingestCall,
  readCall,
  sendOnce,
} from './scenarios.ts';

const LISTINGS = [100, 10_000, 100_000];
const EVENTS = [0, 1_000_000];
const DEEPEST_PAGE = 400;
const MEASURED_EVENTS = 30;

type Operations = Readonly<Record<string, Call>>;

/** Milliseconds per request at each size, by operation. */
type Sizes = Map<string, number[]>;

/** Measures every operation at every size and prints the tables. */
export async function measureScale({ rounds, seconds }: Rounds): Promise<void> {
  const vars = { FEED_CACHE_SECONDS: '0', RATE_LIMIT_DEFAULT: '1000000' };
  const runtime = await startWithListings(buildProduction(), 0, vars);
  const load = startLoad();
  const measureAll = async (operations: Operations, sizes: Sizes) => {
    for (const [name, call] of Object.entries(operations)) {
      const rates: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        rates.push(await load.rateOf(runtime.url, { call, connections: 1, seconds }));
      }
      sizes.set(name, [...(sizes.get(name) ?? []), 1_000 / median(rates)]);
    }
  };

  const feed: Sizes = new Map();
  for (const size of LISTINGS) {
    await fillListings(runtime.database, size);
    await measureAll(feedOperations(await deepCursor(runtime, DEEPEST_PAGE)), feed);
  }
  print('listings', LISTINGS, feed);

  const stream: Sizes = new Map();
  for (const size of EVENTS) {
    await fillEvents(runtime.database, size);
    let id = '';
    for (let event = 0; event < MEASURED_EVENTS; event += 1) {
      id = JSON.parse(await sendOnce(runtime, ingestCall({}))).id;
    }
    await measureAll(eventOperations(id), stream);
  }
  print('events', EVENTS, stream);
  await Promise.all([load.stop(), runtime.stop()]);
}

/** Even the smallest table fills a page of two under every filter. */
function feedOperations(deep: string): Operations {
  const filters = [
    'status=listed&type=ski',
    'status=coming_soon',
    'status=listed,sold_out&type=ski',
    'status=listed,coming_soon,sold_out',
  ];
  return {
    'first page': feedCall(''),
    'page up to 400 deep': feedCall(`?cursor=${deep}`),
    'item by slug': feedCall('/home-41'),
    ...Object.fromEntries(filters.map((query) => [query, feedCall(`?limit=2&${query}`)])),
  };
}

/** `id` is the id of a stored event. */
function eventOperations(id: string): Operations {
  return {
    'ingest, no key': ingestCall({}),
    'ingest, fresh keys': FRESH_INGEST,
    'list of events': readCall('/api/v1/events'),
    'one event': readCall(`/api/v1/events/${id}`),
    'events of an aggregate': readCall(`/api/v1/events?aggregate_id=${EVENT.aggregate_id}`),
  };
}

function print(table: string, sizes: readonly number[], figures: Sizes): void {
  const columns: Column[] = [
    { title: `milliseconds, by ${table}`, width: 36 },
    ...sizes.map((size) => ({ title: number(size), width: 9 })),
    { title: 'ratio', width: 5 },
  ];
  console.log(`\n${tableHead(columns)}`);
  for (const [name, times] of figures) {
    const ratio = number((times.at(-1) ?? 0) / (times[0] ?? 0), 2);
    console.log(tableLine(columns, [name, ...times.map((time) => number(time, 2)), ratio]));
  }
}
