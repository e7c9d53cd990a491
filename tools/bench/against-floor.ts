/**
 * Measures the service against the floor. They take turns, so that other work on the machine meets both: the
 * ratio is the median of those of the rounds.
 */

import { askOnce, CONNECTIONS, startContenders } from './contenders.ts';
import { type Call, startLoad } from './load.ts';
import type { Runtime } from './runtime.ts';
import { ingestScenarios, readScenarios, type Scenario } from './scenarios.ts';
import { median, spread } from './statistics.ts';
import { type Column, number, tableHead, tableLine } from './table.ts';

const WARM_UP_SECONDS = 0.5;
const GOAL = 0.85;
/** A ratio says little when those of the rounds lie further apart than this. */
const NOISE = 0.2;

/** The number of rounds of each request, and the length of one. */
export type Rounds = { rounds: number; seconds: number };

/** A client of ten requests makes two calls of its counter, and the second one is stored. */
const LEASING = { storedEvery: 2, leased: 5 };

type Group = { title: string; service: Runtime; scenarios: Scenario[] };

const COLUMNS: readonly Column[] = [
  { title: 'requests a second', width: 25 },
  { title: 'service', width: 7 },
  { title: 'floor', width: 7 },
  { title: 'ratio', width: 5 },
  { title: 'spread', width: 6 },
];

/** Measures every scenario and prints the table. */
export async function measureAgainstFloor(settings: Rounds): Promise<void> {
  const { hot, cold, floor } = await startContenders();
  const load = startLoad();
  const askHot = (call: Call) => askOnce(hot, call);
  const groups: Group[] = [
    {
      title: 'hot',
      service: hot,
      scenarios: await readScenarios(askHot, { ...LEASING, inMemory: true }),
    },
    {
      title: 'cold',
      service: cold,
      scenarios: await readScenarios(askHot, { ...LEASING, inMemory: false }),
    },
    { title: '', service: hot, scenarios: ingestScenarios({ ...LEASING, inMemory: false }) },
  ];
  const rateOf = (runtime: Runtime, call: Call, seconds: number) =>
    load.rateOf(runtime.url, { call, connections: CONNECTIONS, seconds });
  const noisy: string[] = [];
  const missed: string[] = [];
  console.log(tableHead(COLUMNS));
  for (const { title, service, scenarios } of groups) {
    for (const scenario of scenarios) {
      const name = [scenario.name, title].filter(Boolean).join(', ');
      const sides = [
        { runtime: service, call: scenario.service, rates: [] as number[] },
        { runtime: floor, call: scenario.floor, rates: [] as number[] },
      ];
      await expectSameAnswers(sides);
      for (const { runtime, call } of sides) await rateOf(runtime, call, WARM_UP_SECONDS);
      for (let round = 0; round < settings.rounds; round += 1) {
        for (const { runtime, call, rates } of round % 2 === 0 ? sides : sides.toReversed()) {
          rates.push(await rateOf(runtime, call, settings.seconds));
        }
      }
      const [ofService = [], ofFloor = []] = sides.map(({ rates }) => rates);
      const ratios = ofService.map((rate, round) => rate / (ofFloor[round] ?? Number.NaN));
      const ratio = median(ratios);
      const apart = spread(ratios);
      if (apart > NOISE) noisy.push(name);
      if (ratio < GOAL) missed.push(name);
      const medians = [ofService, ofFloor].map((rates) => number(median(rates)));
      const cells = [...medians, number(ratio, 2), percent(apart)];
      console.log(tableLine(COLUMNS, [name, ...cells]));
    }
  }
  if (missed.length > 0) console.log(`\nBelow the goal of ${GOAL}: ${missed.join('; ')}.`);
  if (noisy.length > 0) {
    console.log(
      `\nThe machine was too noisy: the ratios of the rounds lie over ${percent(NOISE)} apart at ${noisy.join('; ')}.`,
    );
  }
  await Promise.all([load.stop(), hot.stop(), cold.stop(), floor.stop()]);
}

/** Throws unless both sides give the same answer, but for an event's id and time. */
async function expectSameAnswers(sides: readonly { runtime: Runtime; call: Call }[]) {
  const answers = await Promise.all(
    sides.map(async ({ runtime, call }) =>
      (await askOnce(runtime, call)).replace(/"(id|created_at)":"[^"]+"/g, (text, name) =>
        call.method === 'POST' ? `"${name}":""` : text,
      ),
    ),
  );
  if (new Set(answers).size > 1) throw new Error(`service and floor differ: ${answers.join('\n')}`);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
