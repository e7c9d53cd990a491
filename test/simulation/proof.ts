/** The tests that each part of the simulation has: of the service as it is, of bad variants, and of itself. */

import { describe, expect, it } from 'vitest';
import { FAULTS } from './calls.ts';
import { type Replacement, Source } from './modules.ts';
import { Explored, explore, type Part, run, tell } from './simulation.ts';
import { Fleet, PROGRAM_FAULTS } from './world.ts';

const MACHINES = 4;
/** The long form runs this many times as many seeds. */
const FULL = 10;
/** A busy machine takes a minute for five seconds of work. */
const TIMEOUT_MS = 600_000;

/** Proves a part. `runs` is the number of seeds of the short form, by which each variant must be found. */
export function prove(part: Part, runs: number, variants: Record<string, Replacement[]>): void {
  const count = process.env.FULL === '1' ? runs * FULL : runs;

  it(
    `keeps its promises in each of ${count} runs, of which no two are alike`,
    async () => {
      const fleet = new Fleet(new Source(), MACHINES);
      const explored = new Explored();
      const finding = await explore(part, fleet, count, explored);
      expect(await tell(part, fleet, finding)).toBe('');
      expect([...PROGRAM_FAULTS]).toEqual([]);
      expect(explored.orders.size).toBe(count);
      const { requests, successes, events } = explored;
      // A service that answers every request with a 500 would break few promises.
      expect(successes).toBeGreaterThan(requests / 10);
      console.log(`${count} runs, ${requests} requests, ${events} events`);
      console.log(Object.fromEntries(FAULTS));
    },
    TIMEOUT_MS,
  );

  it('does the same again for the same seed', async () => {
    const fleet = new Fleet(new Source(), MACHINES);
    const runOnce = async () => {
      const { world } = await run(part, fleet, part.planOf('7'));
      return world.exchanges.map(({ start, end, status, body }) => [start, end, status, body]);
    };
    const first = await runOnce();
    expect(first.length).toBeGreaterThan(0);
    expect(await runOnce()).toEqual(first);
  });

  describe(`finds within ${runs} runs that`, () => {
    it.each(Object.entries(variants))(
      '%s',
      async (_, replacements) => {
        const fleet = new Fleet(new Source(replacements), MACHINES);
        PROGRAM_FAULTS.clear();
        const finding = await explore(part, fleet, runs);
        expect([...PROGRAM_FAULTS], 'the variant is a program').toEqual([]);
        expect(finding?.violation.promise).toBeTypeOf('string');
        console.log(`found by seed ${finding?.plan.seed}: ${finding?.violation.promise}`);
      },
      TIMEOUT_MS,
    );
  });
}
