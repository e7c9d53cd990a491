/**
 * What the storage calls of the design cost by themselves: the floor's own rates, with its pages
 * from D1 or from memory, and with its counter stored at each hit, at every fifth, or not there.
 */

import type { Rounds } from './against-floor.ts';
import { askOnce, CONNECTIONS, startContenders } from './contenders.ts';
import { startLoad } from './load.ts';
import { type FloorWay, ingestScenarios, readScenarios } from './scenarios.ts';
import { median } from './statistics.ts';
import { type Column, number, tableHead, tableLine } from './table.ts';

const WAYS: readonly { title: string; way: FloorWay }[] = [
  { title: 'from D1, counter stored at each hit', way: { storedEvery: 1, inMemory: false } },
  { title: 'from D1, no counter', way: { storedEvery: 0, inMemory: false } },
  { title: 'from memory, counter stored every fifth hit', way: { storedEvery: 5, inMemory: true } },
];
const SCENARIOS = ['list of 25', 'list of 100', 'by slug', 'ingest, no key', 'ingest, fresh keys'];

const COLUMNS: readonly Column[] = [
  { title: 'requests a second of the floor', width: 43 },
  ...SCENARIOS.map((title) => ({ title, width: title.length })),
];

/** Measures every way in turns and prints the table. */
export async function measureFloorWays({ rounds, seconds }: Rounds): Promise<void> {
  const { hot, cold, floor } = await startContenders();
  const load = startLoad();
  const lines = await Promise.all(
    WAYS.map(async ({ title, way }) => {
      const reads = await readScenarios((call) => askOnce(hot, call), way);
      const scenarios = [...reads, ...ingestScenarios(way)].filter(({ name }) =>
        SCENARIOS.includes(name),
      );
      return {
        title,
        measured: scenarios.map(({ floor: call }) => ({ call, rates: [] as number[] })),
      };
    }),
  );
  for (let round = 0; round < rounds; round += 1) {
    for (const { call, rates } of lines.flatMap(({ measured }) => measured)) {
      rates.push(await load.rateOf(floor.url, { call, connections: CONNECTIONS, seconds }));
    }
  }
  console.log(tableHead(COLUMNS));
  for (const { title, measured } of lines) {
    const cells = measured.map(({ rates }) => number(median(rates)));
    console.log(tableLine(COLUMNS, [title, ...cells]));
  }
  await Promise.all([load.stop(), hot.stop(), cold.stop(), floor.stop()]);
}
