/**
 * Measures how many requests per second the service answers, and compares each rate with the rate of health reads.
 * Rounds of both alternate, so that other work on the machine affects both. The ratio is the median of the ratios of
 * the rounds.
 */

import { storeListings } from './fill.ts';
import { startLoad } from './load.ts';
import type { Call } from './load-thread.ts';
import { startProduction } from './production.ts';
import type { Runtime } from './runtime.ts';
import {
  API_KEY,
  CONNECTIONS,
  deepCursor,
  feedCall,
  ingestCall,
  PUBLIC_SITE_URL,
  readCall,
} from './scenarios.ts';
import { median, spread } from './statistics.ts';
import { type Column, number, tableHead, tableLine } from './table.ts';

const LISTINGS = 2_000;
const DEEP_PAGES = 32;
const WARM_UP_SECONDS = 0.5;
/** A run is too noisy when the ratios of its rounds lie further apart than this. */
const NOISE = 0.2;
const HEALTH = readCall('/api/health');

/** The number of rounds of each request, and the length of one. */
export type Rounds = { rounds: number; seconds: number };

type Scenario = { name: string; runtime: Runtime; call: Call };

/** `apart` is how far the middle half of the rounds' ratios lies apart, as a share of their median. */
type Figures = { name: string; rate: number; ratio: number; apart: number };

const COLUMNS: readonly Column[] = [
  { title: 'requests per second', width: 25 },
  { title: 'rate', width: 7 },
  { title: 'of a health read', width: 16 },
  { title: 'spread', width: 6 },
];

/** Measures every scenario and prints the table. */
export async function measureRates(settings: Rounds): Promise<void> {
  const [hot, cold] = [await start({}), await start({ FEED_CACHE_SECONDS: '0' })];
  const load = startLoad();
  const measured: Figures[] = [];
  console.log(tableHead(COLUMNS));
  for (const { name, runtime, call } of await scenariosOf(hot, cold)) {
    const sides = [{ call }, { call: HEALTH }].map((side) => ({ ...side, rates: [] as number[] }));
    const rateOf = (each: Call, seconds: number) =>
      load.rateOf(runtime.url, { call: each, connections: CONNECTIONS, seconds });
    for (const side of sides) await rateOf(side.call, WARM_UP_SECONDS);
    for (let round = 0; round < settings.rounds; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        side.rates.push(await rateOf(side.call, settings.seconds));
      }
    }
    const [own = [], ofHealth = []] = sides.map(({ rates }) => rates);
    const figures = { name, ...figuresOf(own, ofHealth) };
    measured.push(figures);
    const cells = [number(figures.rate), number(figures.ratio, 2), percent(figures.apart)];
    console.log(tableLine(COLUMNS, [name, ...cells]));
  }
  console.log(`\n${verdictOf(measured)}`);
  await Promise.all([load.stop(), hot.stop(), cold.stop()]);
}

/** Returns the median rate, and the median of the ratios to the health reads of the same rounds. Pure. */
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

async function start(vars: Record<string, string>): Promise<Runtime> {
  const runtime = await startProduction({ PUBLIC_SITE_URL, API_KEY, ...vars });
  await storeListings(runtime.database, LISTINGS, PUBLIC_SITE_URL);
  return runtime;
}

async function scenariosOf(hot: Runtime, cold: Runtime): Promise<Scenario[]> {
  const deep = await deepCursor(hot, DEEP_PAGES);
  const reads = [
    { name: 'list of 25', call: feedCall('') },
    { name: 'list of 100', call: feedCall('?limit=100') },
    { name: 'cards of 25', call: readCall('/api/v1/web/property-cards') },
    { name: 'by slug', call: feedCall('/home-1001') },
    { name: 'deep page', call: feedCall(`?cursor=${deep}`) },
    { name: 'filtered page', call: feedCall('?type=beach') },
  ];
  const on = (runtime: Runtime, title: string) =>
    reads.map(({ name, call }) => ({ name: `${name}, ${title}`, runtime, call }));
  const replayed = ingestCall({ 'Idempotency-Key': crypto.randomUUID() });
  return [
    ...on(hot, 'hot'),
    ...on(cold, 'cold'),
    { name: 'ingest, no key', runtime: hot, call: ingestCall({}) },
    {
      name: 'ingest, fresh keys',
      runtime: hot,
      call: { ...ingestCall({}), hasFreshKeys: true },
    },
    { name: 'replay', runtime: hot, call: replayed },
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
