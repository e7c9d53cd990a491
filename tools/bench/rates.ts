/** Compares requests per second with large and with small tables, in rounds that alternate. */

import { percentile, printRow } from './figures.ts';
import { type Size, startFilled } from './fill.ts';
import { type Call, OPERATIONS, sendFromNewClient } from './requests.ts';
import { buildBundle } from './runtime.ts';

const SMALL: Size = { listings: 200, events: 1_000 };
const LARGE: Size = { listings: 50_000, events: 1_000_000 };
const WARM_UP_SECONDS = 0.5;
const CONNECTIONS = 16;
/** A client with more requests would come near its limit. */
const REQUESTS_PER_CLIENT = 10;

/** Rounds are short, so that other work on the machine affects both sides of a ratio. */
const ROUNDS = 5;
const ROUND_SECONDS = 1;

/** Measures each operation on both sides, and prints the table. */
export async function measureRates(): Promise<void> {
  const script = await buildBundle('src/index.ts', 'dist/bench/production');
  const [small, large] = [await startFilled(script, SMALL), await startFilled(script, LARGE)];
  console.log(`small: ${JSON.stringify(SMALL)}, large: ${JSON.stringify(LARGE)}\n`);
  printRow('requests per second', 'small', 'large', 'ratio');
  for (const [name, call] of Object.entries(OPERATIONS)) {
    for (const { url } of [small, large]) await measureRate(url, call, WARM_UP_SECONDS);
    const rates: number[] = [];
    const ratesOfLarge: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rates.push(await measureRate(small.url, call, ROUND_SECONDS));
      ratesOfLarge.push(await measureRate(large.url, call, ROUND_SECONDS));
    }
    const ratios = rates.map((rate, round) => (ratesOfLarge[round] ?? Number.NaN) / rate);
    const medians = [rates, ratesOfLarge].map((each) => percentile(each, 50).toFixed());
    printRow(name, ...medians, percentile(ratios, 50).toFixed(2));
  }
  await Promise.all([small.stop(), large.stop()]);
}

/** Returns the requests per second of the Worker at `url`. */
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
