/** Compares requests per second with large and with small tables, in rounds that alternate. */

import { computeSpread, createTable, median } from './figures.ts';
import { type Size, startFilled } from './fill.ts';
import { measureRate } from './load.ts';
import { buildBundle } from './runtime.ts';
import { type Call, EVENT, FRESH_INGEST, feedCall, ingestCall, readCall } from './scenarios.ts';

const SMALL: Size = { listings: 200, events: 1_000 };
const LARGE: Size = { listings: 50_000, events: 1_000_000 };
const WARM_UP_SECONDS = 0.5;

/** `fresh=true` bypasses the caches. */
const OPERATIONS: Readonly<Record<string, Call>> = {
  'health read': readCall('/api/health'),
  'page of 25, hot': feedCall(''),
  'page of 100, hot': feedCall('?limit=100'),
  'cards of 25, hot': readCall('/api/v1/web/property-cards'),
  'listing, hot': feedCall('/home-150'),
  'page of 25, cold': feedCall('?fresh=true'),
  'page of 100, cold': feedCall('?fresh=true&limit=100'),
  'cards of 25, cold': readCall('/api/v1/web/property-cards?fresh=true'),
  'listing, cold': feedCall('/home-150?fresh=true'),
  'page of two statuses and a type, cold': feedCall('?fresh=true&status=listed,sold_out&type=ski'),
  'ingest, no key': ingestCall(),
  'ingest, fresh keys': FRESH_INGEST,
  replay: ingestCall({ 'Idempotency-Key': crypto.randomUUID() }),
  'page of events': readCall('/api/v1/events'),
  'one event': readCall('/api/v1/events/00000000-0000-4000-8000-000000000007'),
  'events of an aggregate': readCall(`/api/v1/events?aggregate_id=${EVENT.aggregate_id}`),
};

const table = createTable(
  'requests per second                   |   small |   large | ratio | spread',
);

/** Measures each operation in `rounds` rounds of `seconds` on both sides, and prints the table. */
export async function measureRates(rounds: number, seconds: number): Promise<void> {
  const script = await buildBundle('src/index.ts', 'dist/bench/production');
  const [small, large] = [await startFilled(script, SMALL), await startFilled(script, LARGE)];
  console.log(`small: ${JSON.stringify(SMALL)}, large: ${JSON.stringify(LARGE)}`);
  console.log('A ratio whose spread over the rounds exceeds 20 % says nothing.\n');
  table.printHead();
  for (const [name, call] of Object.entries(OPERATIONS)) {
    for (const { url } of [small, large]) await measureRate(url, call, WARM_UP_SECONDS);
    const [rates, ratesOfLarge]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      if (round % 2 === 0) rates.push(await measureRate(small.url, call, seconds));
      ratesOfLarge.push(await measureRate(large.url, call, seconds));
      if (round % 2 === 1) rates.push(await measureRate(small.url, call, seconds));
    }
    const { ratio, spread } = compareRates(rates, ratesOfLarge);
    const [ownMedian, largeMedian] = [median(rates), median(ratesOfLarge)];
    const cells = [ownMedian.toFixed(), largeMedian.toFixed(), ratio.toFixed(2)];
    table.print(name, ...cells, `${Math.round(spread * 100)} %`);
  }
  await Promise.all([small.stop(), large.stop()]);
}

/** Returns the median ratio of the rounds, and the spread of the ratios. Pure. */
export function compareRates(small: readonly number[], large: readonly number[]) {
  const ratios = large.map((rate, round) => rate / (small[round] ?? Number.NaN));
  return { ratio: median(ratios), spread: computeSpread(ratios) };
}
