/**
 * Measures the floor alone: with pages from D1 or from memory, and with the counter stored at every
 * hit, at every fifth, or left out. The differences are what each storage call costs.
 */

import type { Rounds } from './against-floor.ts';
import { askOnce, CONNECTIONS, startContenders } from './contenders.ts';
import { startLoad } from './load.ts';
import { type FloorMode, ingestScenarios, readScenarios } from './scenarios.ts';
import { median } from './statistics.ts';
import { type Column, number, tableHead, tableLine } from './table.ts';

const MODES: readonly { title: string; mode: FloorMode }[] = [
  {
    title: 'from D1, counter stored at every hit',
    mode: { storedEvery: 1, leased: 1, inMemory: false },
  },
  { title: 'from D1, no counter', mode: { storedEvery: 0, leased: 1, inMemory: false } },
  {
    title: 'from memory, counter stored every fifth hit',
    mode: { storedEvery: 5, leased: 1, inMemory: true },
  },
];
const SCENARIOS = ['list of 25', 'list of 100', 'by slug', 'ingest, no key', 'ingest, fresh keys'];

const COLUMNS: readonly Column[] = [
  { title: 'requests a second of the floor', width: 43 },
  ...SCENARIOS.map((title) => ({ title, width: title.length })),
];

/** Measures every mode in turns and prints the table. */
export async function measureFloorModes({ rounds, seconds }: Rounds): Promise<void> {
  const { hot, cold, floor } = await startContenders();
  const load = startLoad();
  const lines = await Promise.all(
    MODES.map(async ({ title, mode }) => {
      const reads = await readScenarios((call) => askOnce(hot, call), mode);
      const scenarios = [...reads, ...ingestScenarios(mode)].filter(({ name }) =>
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
