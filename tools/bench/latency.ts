/**
 * Measures how long requests take with production's hops added. Every client is new. Its counter
 * object is running already, or takes 1.5 s to start.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { percentile, printRow } from './figures.ts';
import { startFilled } from './fill.ts';
import { type Call, hotListing, nextAddress, OPERATIONS, send } from './requests.ts';
import { buildBundle, type Runtime } from './runtime.ts';

/** The milliseconds of each hop: docs/explain/performance.md has the sources. */
const HOPS = { counter: 15, d1: 30, kv: 20, edge: 7 } as const;
/** The start of a counter object in production. */
const START_MS = 1_500;

export type Hop = keyof typeof HOPS;
/** In milliseconds. */
export type Delays = Record<Hop | 'start', number>;

/** The clients come one after the other. */
type Visit = {
  name: string;
  call: () => Call;
  requests: number;
  clients: number;
  /** Whether the client sends all its requests at the same time. */
  isAtOnce?: boolean;
};

const SIZE = { listings: 200, events: 1_000 };

const hopCount = z.int().min(0);
const callCounts = z.object({ counter: hopCount, d1: hopCount, kv: hopCount, edge: hopCount });

/** Measures every visit with a running and with a starting object, and prints the table. */
export async function measureLatency(): Promise<void> {
  const script = await buildBundle('tools/bench/delayed.ts', 'dist/bench/delayed');
  const running = await startDelayed(script, 0);
  const starting = await startDelayed(script, START_MS);
  console.log(`Milliseconds added to each call: ${JSON.stringify(HOPS)}.`);
  console.log(`A starting object takes ${START_MS} ms to start.`);
  console.log('The last columns are calls per request.\n');
  const hops = Object.keys(callCounts.shape);
  printRow('milliseconds', 'object', 'p50', 'p95', 'longest', ...hops);
  for (const visit of listVisits()) {
    await measureVisit(visit, 'running', running);
    await measureVisit(visit, 'starting', starting);
  }
  await Promise.all([running.stop(), starting.stop()]);
}

function listVisits(): Visit[] {
  const listing = { call: hotListing };
  return [
    ...Object.entries(OPERATIONS).flatMap(([name, call]) => [
      { name: `${name}, of 1`, call, requests: 1, clients: 50 },
      { name: `${name}, of 10`, call, requests: 10, clients: 10 },
      { name: `${name}, of 100`, call, requests: 100, clients: 2 },
    ]),
    { ...listing, name: '4 at once', requests: 4, clients: 10, isAtOnce: true },
    { ...listing, name: '16 at once', requests: 16, clients: 5, isAtOnce: true },
    { ...listing, name: '150 in a row', requests: 150, clients: 1 },
    { ...listing, name: '300 at once', requests: 300, clients: 1, isAtOnce: true },
  ];
}

function startDelayed(script: string, startMs: number): Promise<Runtime> {
  const delays: Delays = { ...HOPS, start: startMs };
  // A starting object is logged as a fault, which is expected here.
  const options = startMs === 0 ? {} : { onLog() {} };
  return startFilled(script, SIZE, { DELAYS: JSON.stringify(delays) }, options);
}

/** Measures a visit after a first request, and prints its line. */
async function measureVisit(visit: Visit, object: string, runtime: Runtime): Promise<void> {
  await sendVisit({ ...visit, requests: 1 }, runtime);
  await takeCalls(runtime);
  const times: number[] = [];
  for (let client = 0; client < visit.clients; client += 1) {
    times.push(...(await sendVisit(visit, runtime)));
  }
  // Reports to an object that starts are sent later.
  if (object === 'starting') await sleep(START_MS);
  const calls = await takeCalls(runtime);
  const figures = [50, 95, 100].map((percent) => percentile(times, percent).toFixed(1));
  const perRequest = Object.values(calls).map((total) => (total / times.length).toFixed(2));
  printRow(visit.name, object, ...figures, ...perRequest);
}

/** Sends the requests of a new client. Returns their milliseconds. */
async function sendVisit({ call, requests, isAtOnce }: Visit, { url }: Runtime): Promise<number[]> {
  const address = nextAddress();
  const sendOne = () => send(url, call(), address);
  if (isAtOnce) return Promise.all(Array.from({ length: requests }, sendOne));
  const times: number[] = [];
  while (times.length < requests) times.push(await sendOne());
  return times;
}

/** Returns the calls since the last time, and resets them. */
async function takeCalls(runtime: Runtime) {
  return callCounts.parse(await (await fetch(new URL('/calls', runtime.url))).json());
}
