/** Compares requests per second with health reads, in rounds that alternate. */

import { median, number, spread, tableHead, tableLine } from './figures.ts';
import { startWithListings } from './fill.ts';
import { type Call, rateOf } from './load.ts';
import { buildBundle, type Runtime } from './runtime.ts';
import { deepCall, FRESH_INGEST, feedCall, ingestCall, readCall } from './scenarios.ts';

const LISTINGS = 2_000;
const DEEP_PAGES = 32;
const CONNECTIONS = 16;
const WARM_UP_SECONDS = 0.5;
/** The largest spread of a run that can be compared. */
const NOISE = 0.2;
const HEALTH = readCall('/api/health');

/** The number of rounds of each request, and the length of one. */
export type Rounds = { rounds: number; seconds: number };

/** `apart` is the spread of the rounds' ratios. */
type Figures = { name: string; rate: number; ratio: number; apart: number };

const TITLES = 'requests per second       |    rate | of a health read | spread';

export async function measureRates({ rounds, seconds }: Rounds): Promise<void> {
  const script = await buildBundle('src/index.ts', 'dist/bench/production');
  const hot = await startWithListings(script, LISTINGS);
  const cold = await startWithListings(script, LISTINGS, { FEED_CACHE_SECONDS: '0' });
  const measured: Figures[] = [];
  console.log(tableHead(TITLES));
  for (const { name, runtime, call } of await scenariosOf(hot, cold)) {
    const measure = (side: Call, seconds: number) =>
      rateOf(runtime.url, { call: side, connections: CONNECTIONS, seconds });
    const [own, ofHealth]: [number[], number[]] = [[], []];
    for (const side of [call, HEALTH]) await measure(side, WARM_UP_SECONDS);
    for (let round = 0; round < rounds; round += 1) {
      if (round % 2 === 0) own.push(await measure(call, seconds));
      ofHealth.push(await measure(HEALTH, seconds));
      if (round % 2 === 1) own.push(await measure(call, seconds));
    }
    const figures = { name, ...figuresOf(own, ofHealth) };
    measured.push(figures);
    const cells = [number(figures.rate), number(figures.ratio, 2), percent(figures.apart)];
    console.log(tableLine(TITLES, [name, ...cells]));
  }
  console.log(`\n${verdictOf(measured)}`);
  await Promise.all([hot.stop(), cold.stop()]);
}

/** Returns the median rate, and the median ratio to the health reads. Pure. */
export function figuresOf(own: readonly number[], ofHealth: readonly number[]) {
  const ratios = own.map((rate, round) => rate / (ofHealth[round] ?? Number.NaN));
  return { rate: median(own), ratio: median(ratios), apart: spread(ratios) };
}

/** Says whether the ratios can be compared with the ratios of another run. Pure. */
export function verdictOf(measured: readonly Figures[]): string {
  const noisy = measured.filter(({ apart }) => apart > NOISE).map(({ name }) => name);
  if (noisy.length === 0) return 'The ratios can be compared with the ratios of another run.';
  return `The machine was too noisy: compare nothing with this run. The ratios of the rounds lie over ${percent(NOISE)} apart at ${noisy.join('; ')}.`;
}

async function scenariosOf(hot: Runtime, cold: Runtime) {
  const reads = [
    { name: 'list of 25', call: feedCall('') },
    { name: 'list of 100', call: feedCall('?limit=100') },
    { name: 'cards of 25', call: readCall('/api/v1/web/property-cards') },
    { name: 'by slug', call: feedCall('/home-1001') },
    { name: 'deep page', call: await deepCall(hot, DEEP_PAGES) },
    { name: 'filtered page', call: feedCall('?type=beach') },
  ];
  const on = (runtime: Runtime, title: string) =>
    reads.map(({ name, call }) => ({ name: `${name}, ${title}`, runtime, call }));
  const replayed = ingestCall({ 'Idempotency-Key': crypto.randomUUID() });
  return [
    ...on(hot, 'hot'),
    ...on(cold, 'cold'),
    { name: 'ingest, no key', runtime: hot, call: ingestCall({}) },
    { name: 'ingest, fresh keys', runtime: hot, call: FRESH_INGEST },
    { name: 'replay', runtime: hot, call: replayed },
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
