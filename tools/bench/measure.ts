/** The measurements. Each prints a table for docs/explain/performance.md. */

import { buildBundle } from '../workerd/runtime.ts';
import { startFilled } from './fill.ts';
import { type Call, OPERATIONS, sendFromNewClient } from './requests.ts';

const SMALL = { listings: 200, events: 1_000 };
const LARGE = { listings: 50_000, events: 1_000_000 };
const WARM_UP_SECONDS = 0.5;
const CONNECTIONS = 16;
/** A client with more requests would come near its limit. */
const REQUESTS_PER_CLIENT = 10;

/** Rounds are short, so that other work on the machine affects both sides of a ratio. */
const ROUNDS = 5;
const ROUND_SECONDS = 1;

/** Clients of `--latency`. */
const USUAL = { requests: 10, clients: 10, isAtOnce: false };
const LISTING = { ...USUAL, call: OPERATIONS['listing, hot'] };
const VISITS = [
  ...Object.entries(OPERATIONS).map(([name, call]) => ({ ...USUAL, name, call })),
  { ...LISTING, name: 'listing, hot: 1 request', requests: 1, clients: 50 },
  { ...LISTING, name: 'listing, hot: 100 in a row', requests: 100, clients: 2 },
  { ...LISTING, name: 'listing, hot: 150 in a row', requests: 150, clients: 1 },
  { ...LISTING, name: 'listing, hot: 4 at once', requests: 4, isAtOnce: true },
  { ...LISTING, name: 'listing, hot: 16 at once', requests: 16, clients: 5, isAtOnce: true },
  { ...LISTING, name: 'listing, hot: 300 at once', requests: 300, clients: 1, isAtOnce: true },
];

const NAME_CHARACTERS = 38;
const CELL_CHARACTERS = 8;

/** Compares requests per second with large and with small tables, in rounds that alternate. */
export async function measureRates(): Promise<void> {
  const script = await buildBundle('src/index.ts', 'dist/bench/production');
  const [small, large] = [await startFilled(script, SMALL), await startFilled(script, LARGE)];
  console.log(`small: ${JSON.stringify(SMALL)}, large: ${JSON.stringify(LARGE)}\n`);
  printRow('requests per second', 'small', 'large', 'ratio');
  for (const [name, call] of Object.entries(OPERATIONS)) {
    for (const { url } of [small, large]) await measureRate(url, call, WARM_UP_SECONDS);
    const rounds: { small: number; large: number; ratio: number }[] = [];
    while (rounds.length < ROUNDS) {
      const rate = await measureRate(small.url, call, ROUND_SECONDS);
      const ofLarge = await measureRate(large.url, call, ROUND_SECONDS);
      rounds.push({ small: rate, large: ofLarge, ratio: ofLarge / rate });
    }
    const median = (figure: 'small' | 'large' | 'ratio', decimals: number) =>
      percentile(
        rounds.map((round) => round[figure]),
        50,
      ).toFixed(decimals);
    printRow(name, median('small', 0), median('large', 0), median('ratio', 2));
  }
  await Promise.all([small.stop(), large.stop()]);
}

/** Returns requests per second. */
async function measureRate(url: URL, call: () => Call, seconds: number): Promise<number> {
  const startedAt = performance.now();
  let responses = 0;
  const sendUntilEnd = async () => {
    while (performance.now() < startedAt + seconds * 1_000) {
      await sendFromNewClient(url, call, REQUESTS_PER_CLIENT);
      responses += REQUESTS_PER_CLIENT;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendUntilEnd));
  return (responses * 1_000) / (performance.now() - startedAt);
}

/**
 * Measures how long requests take with production's hops added, after a first request. Every client
 * is new: its counter object takes 1.5 s to start.
 */
export async function measureLatency(): Promise<void> {
  const script = await buildBundle('tools/bench/delayed.ts', 'dist/bench/delayed');
  // An object that starts is logged as a fault.
  const { url, stop } = await startFilled(script, SMALL, { handleStructuredLogs() {} });
  console.log('Clients send 10 requests in a row, unless the line says otherwise.');
  console.log('The last columns are calls per request.\n');
  printRow('milliseconds', 'p50', 'p95', 'longest', ...Object.keys(await takeCalls(url)));
  for (const { name, call, requests, clients, isAtOnce } of VISITS) {
    await sendFromNewClient(url, call, 1);
    await takeCalls(url);
    const times: number[] = [];
    for (let client = 0; client < clients; client += 1) {
      times.push(...(await sendFromNewClient(url, call, requests, isAtOnce)));
    }
    const calls = Object.values(await takeCalls(url));
    const figures = [50, 95, 100].map((percent) => percentile(times, percent).toFixed(1));
    printRow(name, ...figures, ...calls.map((total) => (total / times.length).toFixed(2)));
  }
  await stop();
}

/** Also resets the counts. */
async function takeCalls(url: URL): Promise<Record<string, number>> {
  return (await fetch(new URL('/calls', url))).json();
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}

function printRow(name: string, ...cells: readonly string[]): void {
  const padded = cells.map((cell) => cell.padStart(CELL_CHARACTERS));
  console.log(`| ${[name.padEnd(NAME_CHARACTERS), ...padded].join(' | ')} |`);
}
