/**
 * Measures how long requests take with production's hops added: the production bundle in workerd, with a delay on each
 * call of the counter, D1, KV and the edge cache. Every client is new. Its counter object is running already, or takes
 * 1.5 s to start.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Hop } from './delayed.ts';
import { type Column, number, percentile, tableHead, tableLine } from './figures.ts';
import type { Call } from './load.ts';
import { buildBundle, startWithListings } from './production.ts';
import type { Runtime } from './runtime.ts';
import { FRESH_INGEST, feedCall, ingestCall } from './scenarios.ts';

/** The delay of each call in milliseconds. */
type Delays = Record<Hop, number>;

/** Requests of a client → number of such clients. */
type Clients = Readonly<Record<number, number>>;

const LISTINGS = 200;
/** Reads that pass per client and window. */
const READ_LIMIT = 100;
/** The start of a counter object in production: docs/explain/performance.md has the source. */
const START_MS = 1_500;

const count = z.int().min(0);
const callCounts = z.object({
  counter: count,
  counterRows: count,
  d1: count,
  kv: count,
  edge: count,
});

const COLUMNS: readonly Column[] = [
  { title: 'milliseconds', width: 34 },
  { title: 'object', width: 8 },
  { title: 'p50', width: 6 },
  { title: 'p95', width: 6 },
  { title: 'longest', width: 7 },
  { title: 'counter', width: 7 },
  { title: 'rows', width: 5 },
  { title: 'D1', width: 5 },
  { title: 'KV', width: 5 },
  { title: 'edge', width: 5 },
];

/** The requests of one client, and the number of such clients. Each client begins when the one before has ended. */
type Visit = {
  name: string;
  call: Call;
  requests: number;
  clients: number;
  /** Whether no response is cached. */
  isCold?: boolean;
  /** Whether the client sends all its requests at the same time. */
  isAtOnce?: boolean;
};

type Timed = { status: number; remaining: number; milliseconds: number };

/** Measures every visit with an object that is running and with one that starts, and prints the table. */
export async function measureLatency(delays: Delays, clients: Clients): Promise<void> {
  const script = buildBundle('tools/bench/delayed.ts', join('dist', 'bench', 'delayed'));
  const objects = await Promise.all(
    [0, START_MS].map(async (startMs) => ({
      startMs,
      hot: await start(script, delays, startMs, {}),
      cold: await start(script, delays, startMs, { FEED_CACHE_SECONDS: '0' }),
    })),
  );
  const hops = Object.entries(delays).map(([hop, milliseconds]) => `${hop} ${milliseconds}`);
  console.log(`Milliseconds added to each call: ${hops.join(', ')}.`);
  console.log(`A starting object takes ${number(START_MS)} ms to start.`);
  console.log('The last five columns are calls, and rows of the counter, per request.\n');
  console.log(tableHead(COLUMNS));
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
  const sizes = Object.entries(clients);
  return [
    ...operations.flatMap(({ name, ...operation }) =>
      sizes.map(([requests, clients]) => ({
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

async function start(
  script: string,
  delays: Delays,
  startMs: number,
  vars: Record<string, string>,
): Promise<Runtime> {
  const delayVars = Object.entries({ ...delays, start: startMs }).map(([hop, milliseconds]) => [
    `DELAY_${hop.toUpperCase()}`,
    String(milliseconds),
  ]);
  const allVars = { ...Object.fromEntries(delayVars), ...vars };
  // A starting object is logged as a fault, which is expected here.
  return startWithListings(script, LISTINGS, allVars, startMs === 0 ? {} : { onLog() {} });
}

/** Measures a visit and prints its line. Throws unless each client gets exactly its limit. */
async function measureVisit(visit: Visit, runtime: Runtime, startMs: number): Promise<void> {
  const { name, call, requests, clients } = visit;
  await send(runtime, call, newClient());
  await takeCalls(runtime);
  const responses: Timed[] = [];
  for (let client = 0; client < clients; client += 1) {
    const own = await sendVisit(runtime, visit);
    const passed = own.filter(({ status }) => status < 300).length;
    const due = call.method === 'GET' ? Math.min(requests, READ_LIMIT) : requests;
    if (passed !== due) throw new Error(`${name}: ${passed} requests passed instead of ${due}`);
    responses.push(...own);
  }
  // Reports to an object that starts write their rows later.
  await sleep(startMs);
  const { counter, counterRows, d1, kv, edge } = await takeCalls(runtime);
  if (requests === 1 && counter > 0) throw new Error(`${name}: ${counter} calls of the counter`);
  const perRequest = [counter, counterRows, d1, kv, edge].map((total) =>
    number(total / responses.length, 2),
  );
  const times = responses.map(({ milliseconds }) => milliseconds);
  const figures = [50, 95, 100].map((percent) => number(percentile(times, percent), 1));
  const object = startMs === 0 ? 'running' : 'starting';
  console.log(tableLine(COLUMNS, [name, object, ...figures, ...perRequest]));
}

/** Sends the requests of one client. Throws unless `X-RateLimit-Remaining` falls by one with each request in turn. */
async function sendVisit(runtime: Runtime, { call, requests, isAtOnce }: Visit): Promise<Timed[]> {
  const client = newClient();
  if (isAtOnce) {
    return Promise.all(Array.from({ length: requests }, () => send(runtime, call, client)));
  }
  const responses: Timed[] = [];
  for (let sent = 0; sent < requests; sent += 1) responses.push(await send(runtime, call, client));
  const remaining = responses.map((response) => response.remaining);
  const first = remaining[0] ?? Number.NaN;
  if (remaining.some((left, sent) => left !== Math.max(0, first - sent))) {
    throw new Error(`X-RateLimit-Remaining does not fall by one: ${remaining.join(' ')}`);
  }
  return responses;
}

/** Sends a request from a client's address, and reads the response to its end. */
async function send(runtime: Runtime, call: Call, client: string): Promise<Timed> {
  const { method, path, body, hasFreshKeys } = call;
  const headers = {
    ...call.headers,
    'CF-Connecting-IP': client,
    ...(hasFreshKeys && { 'Idempotency-Key': crypto.randomUUID() }),
  };
  const startedAt = performance.now();
  const init = { method, headers, ...(body !== undefined && { body }) };
  const response = await fetch(new URL(path, runtime.url), init);
  await response.arrayBuffer();
  return {
    status: response.status,
    remaining: Number(response.headers.get('X-RateLimit-Remaining')),
    milliseconds: performance.now() - startedAt,
  };
}

/** Returns the calls since the last time, and resets them. */
async function takeCalls(runtime: Runtime) {
  return callCounts.parse(await (await fetch(new URL('/calls', runtime.url))).json());
}

let knownClients = 0;

/** Returns an address that no client has used yet. */
function newClient(): string {
  knownClients += 1;
  return `10.${knownClients >> 16}.${(knownClients >> 8) & 255}.${knownClients & 255}`;
}
