/**
 * Measures how the figures grow with the tables: the time of each operation against its time at the
 * smallest size, and the rows that it reads, as D1 counts them.
 */

import { join } from 'node:path';
import type { Position } from '../../src/properties/store.ts';
import { migrateInMemory } from '../database/migrations.ts';
import { buildBundle } from './bundle.ts';
import { askOnce } from './contenders.ts';
import { fillEvents, fillListings } from './fill.ts';
import { startLoad } from './load.ts';
import { metered } from './metered.ts';
import { eventOperations, feedOperations, type Operation } from './operations.ts';
import { type Runtime, startRuntime } from './runtime.ts';
import { API_KEY, feedCall, ingestCall, parsePage } from './scenarios.ts';
import { median } from './statistics.ts';
import { type Column, number, tableHead, tableLine } from './table.ts';

const LISTINGS = [100, 10_000, 100_000];
const EVENTS = [0, 1_000_000];
const DEEPEST_PAGE = 400;
const MEASURED_EVENTS = 30;

/** The number of rounds of each operation at each size, and the length of one. */
export type Scale = { rounds: number; seconds: number };

/** By operation: milliseconds per request, and rows read, at each size. */
type Sizes = Map<string, { milliseconds: number; rows: number }[]>;

/** Measures every operation at every size and prints the tables. */
export async function measureScale(settings: Scale): Promise<void> {
  const service = buildBundle('src/index.ts', join('dist', 'bench', 'service'));
  const runtime = await startRuntime(service, {
    API_KEY,
    FEED_CACHE_SECONDS: '0',
    RATE_LIMIT_DEFAULT: '1000000',
  });
  const load = startLoad();
  const measure = async (operation: Operation) => {
    const rates: number[] = [];
    for (let round = 0; round < settings.rounds; round += 1) {
      const order = { call: operation.call, connections: 1, seconds: settings.seconds };
      rates.push(await load.rateOf(runtime.url, order));
    }
    const meter = metered(runtime.database);
    await operation.read(meter.database);
    return { milliseconds: 1_000 / median(rates), rows: meter.rowsRead };
  };
  const measureAll = async (operations: readonly Operation[], sizes: Sizes) => {
    for (const operation of operations) {
      const bySize = sizes.get(operation.name) ?? [];
      sizes.set(operation.name, [...bySize, await measure(operation)]);
    }
  };

  await migrateInMemory(runtime.database);
  const feed: Sizes = new Map();
  for (const size of LISTINGS) {
    await fillListings(runtime.database, size);
    await measureAll(feedOperations(await deepPage(runtime)), feed);
  }
  print('listings', LISTINGS, feed);

  const stream: Sizes = new Map();
  for (const size of EVENTS) {
    await fillEvents(runtime.database, size);
    let id = '';
    for (let event = 0; event < MEASURED_EVENTS; event += 1) {
      id = JSON.parse(await askOnce(runtime, ingestCall({}))).id;
    }
    await measureAll(eventOperations(id), stream);
  }
  print('events', EVENTS, stream);
  await Promise.all([load.stop(), runtime.stop()]);
}

/** Finds the last full page that another follows, at most 400 deep. */
async function deepPage(runtime: Runtime): Promise<{ cursor: string; after: Position }> {
  let deep: { cursor: string; after: Position } | undefined;
  let page = parsePage(await askOnce(runtime, feedCall('')));
  for (let depth = 1; depth < DEEPEST_PAGE; depth += 1) {
    const last = page.data.at(-1);
    if (page.next_cursor === null || last === undefined) break;
    const next = parsePage(await askOnce(runtime, feedCall(`?cursor=${page.next_cursor}`)));
    if (!next.has_more) break;
    deep = { cursor: page.next_cursor, after: [last.display_order, last.id] };
    page = next;
  }
  if (deep === undefined) throw new Error('the feed has no deep page');
  return deep;
}

function print(what: string, sizes: readonly number[], figures: Sizes): void {
  const columns: Column[] = [
    { title: `milliseconds, by ${what}`, width: 44 },
    ...sizes.map((size) => ({ title: number(size), width: 9 })),
    { title: 'ratio', width: 5 },
    { title: 'rows read', width: 9 },
  ];
  console.log(`\n${tableHead(columns)}`);
  for (const [name, bySize] of figures) {
    const times = bySize.map(({ milliseconds }) => milliseconds);
    const cells = [
      ...times.map((time) => number(time, 2)),
      number((times.at(-1) ?? 0) / (times[0] ?? 0), 2),
      [...new Set(bySize.map(({ rows }) => rows))].join(', '),
    ];
    console.log(tableLine(columns, [name, ...cells]));
  }
}
