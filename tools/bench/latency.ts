/**
 * Measures how long requests take with production's hops added. Every client is new, and comes
 * after the one before. Its counter object takes 1.5 s to start.
 */

import * as z from 'zod';
import { percentile, printRow } from './figures.ts';
import { startFilled } from './fill.ts';
import { type Call, OPERATIONS, sendFromNewClient } from './requests.ts';
import { buildBundle } from './runtime.ts';

const SIZE = { listings: 200, events: 1_000 };

type Visit = {
  name: string;
  call: () => Call;
  requests: number;
  clients: number;
  isAtOnce?: boolean;
};

const listing = { call: OPERATIONS['listing, hot'] };
const VISITS: readonly Visit[] = [
  ...Object.entries(OPERATIONS).map(([name, call]) => ({ name, call, requests: 10, clients: 10 })),
  { name: 'listing, hot: 1 request', ...listing, requests: 1, clients: 50 },
  { name: 'listing, hot: 100 in a row', ...listing, requests: 100, clients: 2 },
  { name: 'listing, hot: 150 in a row', ...listing, requests: 150, clients: 1 },
  { name: 'listing, hot: 4 at once', ...listing, requests: 4, clients: 10, isAtOnce: true },
  { name: 'listing, hot: 16 at once', ...listing, requests: 16, clients: 5, isAtOnce: true },
  { name: 'listing, hot: 300 at once', ...listing, requests: 300, clients: 1, isAtOnce: true },
];

/** Measures every visit after a first request, and prints the table. */
export async function measureLatency(): Promise<void> {
  const script = await buildBundle('tools/bench/delayed.ts', 'dist/bench/delayed');
  // An object that starts is logged as a fault.
  const { url, stop } = await startFilled(script, SIZE, { handleStructuredLogs() {} });
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

/** Returns the calls of each hop since the last time, and resets them. */
async function takeCalls(url: URL): Promise<Record<string, number>> {
  const response = await fetch(new URL('/calls', url));
  return z.record(z.string(), z.int()).parse(await response.json());
}
