/**
 * Measures how long requests take with production's hops added: the production bundle in workerd, with a delay on each
 * call of the counter, D1, KV and the edge cache. Clients come one after the other, and each sends its requests one
 * after the other.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { migrate } from '../database/migrations.ts';
import type { Hop } from './delayed.ts';
import { storeListings } from './fill.ts';
import type { Call } from './load.ts';
import { buildBundle } from './production.ts';
import { type Runtime, startRuntime } from './runtime.ts';
import { API_KEY, feedCall, ingestCall, PUBLIC_SITE_URL } from './scenarios.ts';
import { percentile } from './statistics.ts';
import { type Column, number, tableHead, tableLine } from './table.ts';

/** The delay of each call in milliseconds. */
export type Delays = Record<Hop, number>;

/** Requests of a client → number of such clients; and whether a page is also read once a second for two minutes. */
export type Extent = { clients: Readonly<Record<number, number>>; isSteady: boolean };

const LISTINGS = 200;
const AT_ONCE = 300;
const STEADY_SECONDS = 120;
/** The pace of a client that has some work of its own between two requests. */
const PACE_MS = 2.5;

const count = z.int().min(0);
const calls = z.object({ counter: count, d1: count, kv: count, edge: count, counterRows: count });

const COLUMNS: readonly Column[] = [
  { title: 'milliseconds', width: 34 },
  { title: 'p50', width: 6 },
  { title: 'p95', width: 6 },
  { title: 'p99', width: 6 },
  { title: 'counter', width: 7 },
  { title: 'rows', width: 5 },
  { title: 'D1', width: 5 },
  { title: 'KV', width: 5 },
  { title: 'edge', width: 5 },
];

type Timed = { status: number; remaining: number; milliseconds: number };

/** Measures every operation for every size of client, and prints the table. */
export async function measureLatency(delays: Delays, extent: Extent): Promise<void> {
  const script = buildBundle('tools/bench/delayed.ts', join('dist', 'bench', 'delayed'));
  const hot = await start(script, delays, {});
  const cold = await start(script, delays, { FEED_CACHE_SECONDS: '0' });
  const key = crypto.randomUUID();
  const operations: { name: string; runtime: Runtime; call: () => Call; paceMs?: number }[] = [
    { name: 'page of 25, hot', runtime: hot, call: () => feedCall('') },
    { name: 'listing, hot', runtime: hot, call: () => feedCall('/home-1') },
    {
      name: `every ${PACE_MS} ms`,
      runtime: hot,
      call: () => feedCall('/home-1'),
      paceMs: PACE_MS,
    },
    { name: 'page of 25, cold', runtime: cold, call: () => feedCall('') },
    {
      name: 'ingest, fresh keys',
      runtime: hot,
      call: () => ingestCall({ 'Idempotency-Key': crypto.randomUUID() }),
    },
    { name: 'replay', runtime: hot, call: () => ingestCall({ 'Idempotency-Key': key }) },
  ];
  const hops = Object.entries(delays).map(([hop, milliseconds]) => `${hop} ${milliseconds}`);
  console.log(`Milliseconds added to each call: ${hops.join(', ')}.`);
  console.log('The last five columns are calls, and rows of the counter, per request.\n');
  console.log(tableHead(COLUMNS));
  for (const { name, runtime, call, paceMs = 0 } of operations) {
    for (const [requests, clients] of Object.entries(extent.clients)) {
      await send(runtime, call(), freshClient());
      await takeCalls(runtime);
      const responses: Timed[] = [];
      for (let client = 0; client < clients; client += 1) {
        responses.push(...(await sendInTurn(runtime, call, Number(requests), paceMs)));
      }
      printLine(`${name}, clients of ${requests}`, responses, await takeCalls(runtime));
    }
  }
  await measureAtOnce(hot);
  if (extent.isSteady) await measureSteady(script, delays);
  await Promise.all([hot.stop(), cold.stop()]);
}

async function start(script: string, delays: Delays, vars: Record<string, string>) {
  const delayVars = Object.entries(delays).map(([hop, milliseconds]) => [
    `DELAY_${hop.toUpperCase()}`,
    String(milliseconds),
  ]);
  const runtime = await startRuntime(script, {
    PUBLIC_SITE_URL,
    API_KEY,
    ...Object.fromEntries(delayVars),
    ...vars,
  });
  await migrate(runtime.database);
  await storeListings(runtime.database, LISTINGS, PUBLIC_SITE_URL);
  return runtime;
}

/** Sends a request from a client's address, and reads the response to its end. */
async function send(runtime: Runtime, { path, ...call }: Call, client: string): Promise<Timed> {
  const startedAt = performance.now();
  const headers = { ...call.headers, 'CF-Connecting-IP': client };
  const response = await fetch(new URL(path, runtime.url), { ...call, headers });
  await response.arrayBuffer();
  return {
    status: response.status,
    remaining: Number(response.headers.get('X-RateLimit-Remaining')),
    milliseconds: performance.now() - startedAt,
  };
}

/** Sends the requests of one client. Throws unless `X-RateLimit-Remaining` falls by one with each. */
async function sendInTurn(runtime: Runtime, call: () => Call, requests: number, paceMs: number) {
  const client = freshClient();
  const responses: Timed[] = [];
  for (let sent = 0; sent < requests; sent += 1) {
    const next = performance.now() + paceMs;
    responses.push(await send(runtime, call(), client));
    // Timers of Node count whole milliseconds.
    while (performance.now() < next) await new Promise((resolve) => setImmediate(resolve));
  }
  const remaining = responses.map((response) => response.remaining);
  const first = remaining[0] ?? Number.NaN;
  if (remaining.some((left, sent) => left !== first - sent)) {
    throw new Error(`X-RateLimit-Remaining does not fall by one: ${remaining.join(' ')}`);
  }
  return responses;
}

/** Returns the calls since the last time, and resets them. */
async function takeCalls(runtime: Runtime) {
  return calls.parse(await (await fetch(new URL('/calls', runtime.url))).json());
}

function printLine(name: string, responses: readonly Timed[], counted: z.infer<typeof calls>) {
  const failed = responses.find(({ status }) => status >= 300);
  if (failed !== undefined) throw new Error(`${name}: ${failed.status}`);
  const times = responses.map(({ milliseconds }) => milliseconds);
  const { counter, counterRows, d1, kv, edge } = counted;
  const perRequest = [counter, counterRows, d1, kv, edge].map((total) =>
    number(total / responses.length, 2),
  );
  const figures = [50, 95, 99].map((percent) => number(percentile(times, percent), 1));
  console.log(tableLine(COLUMNS, [name, ...figures, ...perRequest]));
}

/** Sends more requests at once than a window allows, each on a connection of its own. */
async function measureAtOnce(runtime: Runtime): Promise<void> {
  await takeCalls(runtime);
  const client = freshClient();
  const responses = await Promise.all(
    Array.from({ length: AT_ONCE }, () => send(runtime, feedCall('/home-1'), client)),
  );
  const passed = responses.filter(({ status }) => status === 200).length;
  const { counter } = await takeCalls(runtime);
  console.log(
    `\n${AT_ONCE} at once from one client: ${passed} pass, with ${counter} counter calls.`,
  );
}

/** Reads a page once a second, with and without the counter's hop. */
async function measureSteady(script: string, delays: Delays): Promise<void> {
  const readSteadily = async (name: string, ownDelays: Delays) => {
    const runtime = await start(script, ownDelays, {});
    await send(runtime, feedCall(''), freshClient());
    await takeCalls(runtime);
    const client = freshClient();
    const responses: Timed[] = [];
    for (let second = 0; second < STEADY_SECONDS; second += 1) {
      const [response] = await Promise.all([send(runtime, feedCall(''), client), sleep(1_000)]);
      responses.push(response);
    }
    const counted = await takeCalls(runtime);
    await runtime.stop();
    return () => printLine(name, responses, counted);
  };
  const prints = await Promise.all([
    readSteadily('page, once a second', delays),
    readSteadily('the same, counter at 0', { ...delays, counter: 0 }),
  ]);
  console.log(`\n${tableHead(COLUMNS)}`);
  for (const print of prints) print();
}

let clients = 0;

/** Returns an address that no client has used yet. */
function freshClient(): string {
  clients += 1;
  return `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`;
}
