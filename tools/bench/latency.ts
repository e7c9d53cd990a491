/**
 * Measures how long requests take with production's hops added. Every client is new. Its counter
 * object is running already, or takes 1.5 s to start.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { number, percentile, tableHead, tableLine } from './figures.ts';
import { startWithListings } from './fill.ts';
import { addressOf, type Call } from './load.ts';
import { buildBundle, type Runtime } from './runtime.ts';
import { FRESH_INGEST, feedCall, ingestCall, send } from './scenarios.ts';

/** The milliseconds of each hop: docs/explain/performance.md has the sources. */
const HOPS = { counter: 15, d1: 30, kv: 20, edge: 7 } as const;
/** The start of a counter object in production. */
const START_MS = 1_500;

export type Hop = keyof typeof HOPS;
/** The milliseconds added to each call, and to the start of a counter object. */
export type Delays = Record<Hop | 'start', number>;

/** Requests of a client → number of such clients. */
type Clients = Readonly<Record<number, number>>;

const LISTINGS = 200;
/** Reads that pass per client and window. */
const READ_LIMIT = 100;

const count = z.int().min(0);
const callCounts = z.object({ counter: count, rows: count, d1: count, kv: count, edge: count });

const TITLES =
  'milliseconds                       |   object |    p50 |    p95 | longest | counter |  rows |    D1 |    KV |  edge';

/** Each client begins when the one before has ended. */
type Visit = {
  name: string;
  call: Call;
  requests: number;
  clients: number;
  isCold?: boolean;
  /** Whether the client sends all its requests at the same time. */
  isAtOnce?: boolean;
};

let knownClients = 0;

/** Measures every visit with a running and with a starting object, and prints the table. */
export async function measureLatency(clients: Clients): Promise<void> {
  const script = await buildBundle('tools/bench/delayed.ts', 'dist/bench/delayed');
  const objects = await Promise.all(
    [0, START_MS].map(async (startMs) => ({
      startMs,
      hot: await start(script, startMs, {}),
      cold: await start(script, startMs, { FEED_CACHE_SECONDS: '0' }),
    })),
  );
  const hops = Object.entries(HOPS).map(([hop, milliseconds]) => `${hop} ${milliseconds}`);
  console.log(`Milliseconds added to each call: ${hops.join(', ')}.`);
  console.log(`A starting object takes ${number(START_MS)} ms to start.`);
  console.log('The last five columns are calls, and rows of the counter, per request.\n');
  console.log(tableHead(TITLES));
  for (const visit of visitsOf(clients)) {
    for (const { startMs, hot, cold } of objects) {
      await measureVisit(visit, visit.isCold ? cold : hot, startMs);
    }
  }
  await Promise.all(objects.flatMap(({ hot, cold }) => [hot.stop(), cold.stop()]));
}

function visitsOf(clients: Clients): Visit[] {
  const listing = feedCall('/home-1');
  const operations = [
    { name: 'page of 25, hot', call: feedCall('') },
    { name: 'listing, hot', call: listing },
    { name: 'page of 25, cold', call: feedCall(''), isCold: true },
    { name: 'listing, cold', call: listing, isCold: true },
    { name: 'ingest, fresh keys', call: FRESH_INGEST },
    { name: 'replay', call: ingestCall({ 'Idempotency-Key': crypto.randomUUID() }) },
  ];
  return [
    ...operations.flatMap(({ name, ...operation }) =>
      Object.entries(clients).map(([requests, clients]) => ({
        name: `${name}, clients of ${requests}`,
        ...operation,
        requests: Number(requests),
        clients,
      })),
    ),
    { name: '4 at once', call: listing, requests: 4, clients: 10, isAtOnce: true },
    { name: '16 at once', call: listing, requests: 16, clients: 5, isAtOnce: true },
    { name: '150 in a row', call: listing, requests: 150, clients: 1 },
    { name: '300 at once', call: listing, requests: 300, clients: 1, isAtOnce: true },
  ];
}

function start(script: string, startMs: number, vars: Record<string, string>): Promise<Runtime> {
  const delays: Delays = { ...HOPS, start: startMs };
  const all = { ...vars, DELAYS: JSON.stringify(delays) };
  // A starting object is logged as a fault, which is expected here.
  return startWithListings(script, LISTINGS, all, startMs === 0 ? {} : { onLog() {} });
}

/** Measures a visit and prints its line. Throws unless each client gets exactly its limit. */
async function measureVisit(visit: Visit, runtime: Runtime, startMs: number): Promise<void> {
  const { name, call, requests, clients } = visit;
  await sendVisit(runtime, { ...visit, requests: 1 });
  await takeCalls(runtime);
  const times: number[] = [];
  for (let client = 0; client < clients; client += 1) {
    const own = await sendVisit(runtime, visit);
    const passed = own.filter(({ status }) => status < 300).length;
    const due = call.method === 'GET' ? Math.min(requests, READ_LIMIT) : requests;
    if (passed !== due) throw new Error(`${name}: ${passed} requests passed instead of ${due}`);
    times.push(...own.map(({ milliseconds }) => milliseconds));
  }
  // Reports to an object that starts write their rows later.
  await sleep(startMs);
  const calls = await takeCalls(runtime);
  if (requests === 1 && calls.counter > 0) throw new Error(`${name}: a call of the counter`);
  const perRequest = Object.values(calls).map((total) => number(total / times.length, 2));
  const figures = [50, 95, 100].map((percent) => number(percentile(times, percent), 1));
  const object = startMs === 0 ? 'running' : 'starting';
  console.log(tableLine(TITLES, [name, object, ...figures, ...perRequest]));
}

async function sendVisit(runtime: Runtime, { call, requests, isAtOnce }: Visit) {
  knownClients += 1;
  const client = { 'CF-Connecting-IP': addressOf(knownClients) };
  const sendOne = () => send(runtime, call, client);
  if (isAtOnce) return Promise.all(Array.from({ length: requests }, sendOne));
  const responses = [await sendOne()];
  while (responses.length < requests) responses.push(await sendOne());
  return responses;
}

/** Returns the calls since the last time, and resets them. */
async function takeCalls(runtime: Runtime) {
  return callCounts.parse(await (await fetch(new URL('/calls', runtime.url))).json());
}
