/** Measures how the time of each operation grows with the tables. */

import { median, number, tableHead, tableLine } from './figures.ts';
import { fillEvents, fillListings, startWithListings } from './fill.ts';
import { type Call, rateOf } from './load.ts';
import type { Rounds } from './rates.ts';
import { buildBundle, type Runtime } from './runtime.ts';
import {
  deepCall,
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

/** Measures every operation at every size and prints the tables. */
export async function measureScale(rounds: Rounds): Promise<void> {
  const script = await buildBundle('src/index.ts', 'dist/bench/production');
  const vars = { FEED_CACHE_SECONDS: '0', RATE_LIMIT_DEFAULT: '1000000' };
  const runtime = await startWithListings(script, 0, vars);
  await measureSizes('listings', LISTINGS, runtime, rounds, async (size) => {
    await fillListings(runtime.database, size);
    return feedOperations(await deepCall(runtime, DEEPEST_PAGE));
  });
  await measureSizes('events', EVENTS, runtime, rounds, async (size) => {
    await fillEvents(runtime.database, size);
    let id = '';
    for (let event = 0; event < MEASURED_EVENTS; event += 1) {
      id = (await sendOnce(runtime, ingestCall({}))).id;
    }
    return eventOperations(id);
  });
  await runtime.stop();
}

/** Measures the operations that `fill` returns at each size, and prints a table of milliseconds. */
async function measureSizes(
  table: string,
  sizes: readonly number[],
  { url }: Runtime,
  { rounds, seconds }: Rounds,
  fill: (size: number) => Promise<Operations>,
): Promise<void> {
  const times = new Map<string, number[]>();
  for (const size of sizes) {
    for (const [name, call] of Object.entries(await fill(size))) {
      const rates: number[] = [];
      while (rates.length < rounds)
        rates.push(await rateOf(url, { call, connections: 1, seconds }));
      times.set(name, [...(times.get(name) ?? []), 1_000 / median(rates)]);
    }
  }
  const title = `milliseconds, by ${table}`.padEnd(36);
  const titles = [title, ...sizes.map((size) => number(size).padStart(9)), 'ratio'].join(' | ');
  console.log(`\n${tableHead(titles)}`);
  for (const [name, own] of times) {
    const ratio = number((own.at(-1) ?? 0) / (own[0] ?? 0), 2);
    console.log(tableLine(titles, [name, ...own.map((time) => number(time, 2)), ratio]));
  }
}

/** Even the smallest table fills a page of two under every filter. */
function feedOperations(deep: Call): Operations {
  const filters = [
    'status=listed&type=ski',
    'status=coming_soon',
    'status=listed,sold_out&type=ski',
    'status=listed,coming_soon,sold_out',
  ];
  return {
    'first page': feedCall(''),
    'page up to 400 deep': deep,
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
