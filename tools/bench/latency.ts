/**
 * Measures how long requests take with production's hops added. Every client is new. Its counter
 * object is running already, or takes 1.5 s to start.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { createTable, percentile } from './figures.ts';
import { startFilled } from './fill.ts';
import { nextAddress, send } from './load.ts';
import { buildBundle, type Runtime } from './runtime.ts';
import { type Call, FRESH_INGEST, feedCall, ingestCall, readCall } from './scenarios.ts';

/** The milliseconds of each hop: docs/explain/performance.md has the sources. */
const HOPS = { counter: 15, d1: 30, kv: 20, edge: 7 } as const;
/** The start of a counter object in production. */
const START_MS = 1_500;

export type Hop = keyof typeof HOPS;
/** In milliseconds. */
export type Delays = Record<Hop | 'start', number>;

/** Requests of a client → number of such clients. */
type Clients = Readonly<Record<number, number>>;

const SIZE = { listings: 200, events: 0 };
const READ_LIMIT = 100;

const count = z.int().min(0);
const callCounts = z.object({ counter: count, d1: count, rows: count, kv: count, edge: count });

const table = createTable(
  'milliseconds                       |   object |    p50 |    p95 | longest | counter |    D1 |  rows |    KV |  edge',
);

/** The clients come one after the other. */
type Visit = {
  name: string;
  call: Call;
  requests: number;
  clients: number;
  /** Whether the client sends all its requests at the same time. */
  isAtOnce?: boolean;
};

/** Measures every visit with a running and with a starting object, and prints the table. */
export async function measureLatency(clients: Clients): Promise<void> {
  const script = await buildBundle('tools/bench/delayed.ts', 'dist/bench/delayed');
  const running = await startDelayed(script, 0);
  const starting = await startDelayed(script, START_MS);
  const hops = Object.entries(HOPS).map(([hop, milliseconds]) => `${hop} ${milliseconds}`);
  console.log(`Milliseconds added to each call: ${hops.join(', ')}.`);
  console.log(`A starting object takes ${START_MS} ms to start.`);
  console.log('The last columns are calls, and rows that D1 read, per request.\n');
  table.printHead();
  for (const visit of listVisits(clients)) {
    await measureVisit(visit, running, 0);
    await measureVisit(visit, starting, START_MS);
  }
  await Promise.all([running.stop(), starting.stop()]);
  await measureSite(script);
}

/** The pages of an ordinary site, each requested again when its check would have ended. */
const SITE = {
  calls: [
    ...['', '?type=beach', '/home-3?locale=en'].map((path) => feedCall(path)),
    readCall('/api/v1/web/locations'),
    ...Array.from({ length: 22 }, (_, index) => feedCall(`/home-${5 * index}`)),
  ],
  checkSeconds: 4,
  roundMs: 5_200,
  rounds: 4,
};

/** Measures a site's pages after a round of warming, with the memory of an isolate or without. */
async function measureSite(script: string): Promise<void> {
  for (const [name, vars] of [
    ['pages of an ordinary site', {}],
    ['the same, edge cache alone', { FEED_MEMORY_BYTES: '0' }],
  ] as const) {
    const seconds = { FEED_CACHE_SECONDS: String(SITE.checkSeconds) };
    const runtime = await startDelayed(script, 0, { ...seconds, ...vars });
    for (const call of SITE.calls) await sendVisit(runtime, { call, requests: 1 });
    await takeCalls(runtime);
    const replies: Awaited<ReturnType<typeof sendVisit>> = [];
    for (let sent = 0; sent < SITE.rounds * SITE.calls.length; sent += 1) {
      const call = SITE.calls[sent % SITE.calls.length] ?? feedCall('');
      const pause = sleep(SITE.roundMs / SITE.calls.length);
      replies.push(...(await sendVisit(runtime, { call, requests: 1 })));
      await pause;
    }
    const times = replies.map(({ milliseconds }) => milliseconds);
    printLine(name, 'running', times, await takeCalls(runtime));
    const waiting = replies.filter(({ timings }) => timings.includes('database')).length;
    console.log(`${((100 * waiting) / replies.length).toFixed(1)} % of them waited for D1.`);
    await runtime.stop();
  }
}

/** `fresh=true` bypasses the caches. */
function listVisits(clients: Clients): Visit[] {
  const listing = feedCall('/home-150');
  const operations = {
    'page of 25, hot': feedCall(''),
    'listing, hot': listing,
    'page of 25, cold': feedCall('?fresh=true'),
    'listing, cold': feedCall('/home-150?fresh=true'),
    'ingest, fresh keys': FRESH_INGEST,
    replay: ingestCall({ 'Idempotency-Key': crypto.randomUUID() }),
  };
  return [
    ...Object.entries(operations).flatMap(([name, call]) =>
      Object.entries(clients).map(([requests, clients]) => ({
        ...{ name: `${name}, clients of ${requests}`, call, clients },
        requests: Number(requests),
      })),
    ),
    { name: '4 at once', call: listing, requests: 4, clients: 10, isAtOnce: true },
    { name: '16 at once', call: listing, requests: 16, clients: 5, isAtOnce: true },
    { name: '150 in a row', call: listing, requests: 150, clients: 1 },
    { name: '300 at once', call: listing, requests: 300, clients: 1, isAtOnce: true },
  ];
}

/** Starts the service of delayed.ts. `vars` override vars. */
function startDelayed(
  script: string,
  startMs: number,
  vars: Readonly<Record<string, string>> = {},
): Promise<Runtime> {
  const delays: Delays = { ...HOPS, start: startMs };
  const all = { ...vars, DELAYS: JSON.stringify(delays) };
  // A starting object is logged as a fault, which is expected here.
  return startFilled(script, SIZE, all, startMs === 0 ? {} : { onLog() {} });
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
  printLine(name, startMs === 0 ? 'running' : 'starting', times, calls);
}

function printLine(
  name: string,
  object: string,
  times: readonly number[],
  calls: z.infer<typeof callCounts>,
): void {
  const figures = [50, 95, 100].map((percent) => percentile(times, percent).toFixed(1));
  const perRequest = Object.values(calls).map((total) => (total / times.length).toFixed(2));
  table.print(name, object, ...figures, ...perRequest);
}

/** Sends the requests of a new client. */
async function sendVisit(
  { url }: Runtime,
  { call, requests, isAtOnce }: Pick<Visit, 'call' | 'requests' | 'isAtOnce'>,
) {
  const address = nextAddress();
  const sendOne = () => send(url, call, address);
  if (isAtOnce) return Promise.all(Array.from({ length: requests }, sendOne));
  const responses = [await sendOne()];
  while (responses.length < requests) responses.push(await sendOne());
  return responses;
}

/** Returns the calls since the last time, and resets them. */
async function takeCalls(runtime: Runtime) {
  return callCounts.parse(await (await fetch(new URL('/calls', runtime.url))).json());
}
