/** The tests that each part of the simulation has: of the service as it is, of bad variants, and of itself. */

import { describe, expect, it } from 'vitest';
import { FAULTS } from './calls.ts';
import { type Replacement, Source } from './modules.ts';
import { Explored, explore, type Part, run, tell } from './simulation.ts';
import { Fleet, PROGRAM_FAULTS } from './world.ts';

const MACHINES = 4;
/** The seeds of the short form. Each variant must be found by one of them. */
export const RUNS = 30;
/** The seeds of the short form, or of the long one. */
export const COUNT = process.env.FULL === '1' ? 1_000 : RUNS;
/** A busy machine takes a minute for five seconds of work. */
export const TIMEOUT_MS = 600_000;

/** Proves a part. */
export function prove(part: Part, variants: Record<string, Replacement[]>): void {
  it(
    `keeps its promises in each of ${COUNT} runs, of which no two are alike`,
    async () => {
      const fleet = new Fleet(new Source(), MACHINES);
      const explored = new Explored();
      FAULTS.clear();
      const finding = await explore(part, fleet, COUNT, explored);
      expect(await tell(part, fleet, finding)).toBe('');
      expect([...PROGRAM_FAULTS]).toEqual([]);
      expect(explored.orders.size).toBe(COUNT);
      const { requests, successes, events } = explored;
      // A service that answers every request with a 500 would break few promises.
      expect(successes).toBeGreaterThan(requests / 10);
      console.log(`${COUNT} runs, ${requests} requests, ${events} events`);
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

  describe(`finds within ${RUNS} runs that`, () => {
    it.each(Object.entries(variants))(
      '%s',
      async (_, replacements) => {
        const fleet = new Fleet(new Source(replacements), MACHINES);
        PROGRAM_FAULTS.clear();
        const finding = await explore(part, fleet, RUNS);
        expect([...PROGRAM_FAULTS], 'the variant is a program').toEqual([]);
        expect(finding?.violation.promise).toBeTypeOf('string');
        console.log(`found by seed ${finding?.plan.seed}: ${finding?.violation.promise}`);
      },
      TIMEOUT_MS,
    );
  });
}
