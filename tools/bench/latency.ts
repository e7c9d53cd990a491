/**
 * Measures how long requests take with production's hops added: the production bundle in workerd, with a delay on each
 * call of the counter, D1, KV and the edge cache. Clients come one after the other, and each sends its requests one
 * after the other.
 */

import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
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

type Answered = { status: number; headers: IncomingHttpHeaders; milliseconds: number };

type Connection = {
  /** Sends the request from a client's address, and reads the answer to its end. */
  ask(call: Call, client: string): Promise<Answered>;
  close(): void;
};

/** Makes a connection, which carries one request at a time. */
function connectTo(url: URL): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask({ method, path, headers, body }, client) {
      return new Promise((resolve, reject) => {
        const startedAt = performance.now();
        const sent = request(
          new URL(path, url).href,
          { agent, method, headers: { ...headers, 'CF-Connecting-IP': client } },
          (answer) => {
            answer.on('error', reject);
            answer.on('end', () =>
              resolve({
                status: answer.statusCode ?? 0,
                headers: answer.headers,
                milliseconds: performance.now() - startedAt,
              }),
            );
            answer.resume();
          },
        );
        sent.on('error', reject);
        sent.end(body);
      });
    },
    close: () => agent.destroy(),
  };
}

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
      const connection = connectTo(runtime.url);
      await connection.ask(call(), freshClient());
      await takeCalls(runtime);
      const answers: Answered[] = [];
      for (let client = 0; client < clients; client += 1) {
        answers.push(
          ...(await askInTurn(connection, call, { requests: Number(requests), paceMs })),
        );
      }
      connection.close();
      printLine(`${name}, clients of ${requests}`, answers, await takeCalls(runtime));
    }
  }
  await measureAtOnce(hot);
  if (extent.isSteady) await measureSteady(script, delays);
  await Promise.all([hot.stop(), cold.stop()]);
}

async function start(script: string, delays: Delays, vars: Record<string, string>) {
  const runtime = await startRuntime(script, {
    PUBLIC_SITE_URL,
    API_KEY,
    ...Object.fromEntries(
      Object.entries(delays).map(([hop, delay]) => [`DELAY_${hop.toUpperCase()}`, String(delay)]),
    ),
    ...vars,
  });
  await migrate(runtime.database);
  await storeListings(runtime.database, LISTINGS, PUBLIC_SITE_URL);
  return runtime;
}

/** Sends the requests of one client. Throws unless `X-RateLimit-Remaining` falls by one with each. */
async function askInTurn(
  connection: Connection,
  call: () => Call,
  { requests, paceMs = 0 }: { requests: number; paceMs?: number },
) {
  const client = freshClient();
  const answers: Answered[] = [];
  for (let sent = 0; sent < requests; sent += 1) {
    const next = performance.now() + paceMs;
    answers.push(await connection.ask(call(), client));
    // Timers of Node count whole milliseconds.
    while (performance.now() < next) await new Promise((resolve) => setImmediate(resolve));
  }
  const remaining = answers.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
  const first = remaining[0] ?? Number.NaN;
  if (remaining.some((left, sent) => left !== first - sent)) {
    throw new Error(`X-RateLimit-Remaining does not fall by one: ${remaining.join(' ')}`);
  }
  return answers;
}

async function takeCalls(runtime: Runtime) {
  return calls.parse(await (await fetch(new URL('/calls', runtime.url))).json());
}

function printLine(name: string, answers: readonly Answered[], counted: z.infer<typeof calls>) {
  const failed = answers.find(({ status }) => status >= 300);
  if (failed !== undefined) throw new Error(`${name}: ${failed.status}`);
  const times = answers.map(({ milliseconds }) => milliseconds);
  const perRequest = [
    counted.counter,
    counted.counterRows,
    counted.d1,
    counted.kv,
    counted.edge,
  ].map((total) => number(total / answers.length, 2));
  const figures = [50, 95, 99].map((percent) => number(percentile(times, percent), 1));
  console.log(tableLine(COLUMNS, [name, ...figures, ...perRequest]));
}

/** Sends more requests at once than a window allows, each on a connection of its own. */
async function measureAtOnce(runtime: Runtime): Promise<void> {
  await takeCalls(runtime);
  const client = freshClient();
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const connection = connectTo(runtime.url);
      const answer = await connection.ask(feedCall('/home-1'), client);
      connection.close();
      return answer;
    }),
  );
  const passed = answers.filter(({ status }) => status === 200).length;
  const { counter } = await takeCalls(runtime);
  console.log(
    `\n${AT_ONCE} at once from one client: ${passed} pass, with ${counter} counter calls.`,
  );
}

/** Reads a page once a second, with and without the counter's hop. */
async function measureSteady(script: string, delays: Delays): Promise<void> {
  const runtimes = [
    { name: 'page, once a second', runtime: await start(script, delays, {}) },
    {
      name: 'the same, counter at 0',
      runtime: await start(script, { ...delays, counter: 0 }, {}),
    },
  ];
  const measured = await Promise.all(
    runtimes.map(async ({ name, runtime }) => {
      const connection = connectTo(runtime.url);
      await connection.ask(feedCall(''), freshClient());
      await takeCalls(runtime);
      const client = freshClient();
      const answers: Answered[] = [];
      for (let second = 0; second < STEADY_SECONDS; second += 1) {
        const pause = new Promise((resolve) => setTimeout(resolve, 1_000));
        answers.push(await connection.ask(feedCall(''), client));
        await pause;
      }
      connection.close();
      return { name, answers, counted: await takeCalls(runtime) };
    }),
  );
  console.log(`\n${tableHead(COLUMNS)}`);
  for (const { name, answers, counted } of measured) printLine(name, answers, counted);
  await Promise.all(runtimes.map(({ runtime }) => runtime.stop()));
}

let clients = 0;

/** Returns an address that no client has used yet. */
function freshClient(): string {
  clients += 1;
  return `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`;
}
