/** Set-backs, moves, erasures and interrupted imports, in any order. See docs/explain/simulation.md. */

import { describe, expect, it } from 'vitest';
import { addByteMethods, Source } from './modules.ts';
import { programsOf, runOperator } from './operator.ts';
import { COUNT, RUNS, TIMEOUT_MS } from './proof.ts';
import { BAD_OPERATOR } from './variants.ts';

addByteMethods();

describe('the tools of an operator, simulated', () => {
  it(
    `keep the promises in each of ${COUNT} runs`,
    async () => {
      const programs = programsOf(new Source());
      let steps = 0;
      for (let seed = 1; seed <= COUNT; seed += 1) {
        const { history, violations } = await runOperator(programs, String(seed));
        expect(violations, `seed ${seed}:\n${history.join('\n')}`).toEqual([]);
        steps += history.length;
      }
      console.log(`${COUNT} runs, ${steps} steps`);
    },
    TIMEOUT_MS,
  );

  describe(`find within ${RUNS} runs that`, () => {
    it.each(Object.entries(BAD_OPERATOR))(
      '%s',
      async (_, replacements) => {
        const programs = programsOf(new Source(replacements));
        for (let seed = 1; seed <= RUNS; seed += 1) {
          const { violations } = await runOperator(programs, String(seed));
          const [found] = violations;
          if (found === undefined) continue;
          console.log(`found by seed ${seed}: ${found.promise}`);
          return;
        }
        expect.unreachable('no run breaks a promise');
      },
      TIMEOUT_MS,
    );
  });
});
