/** Tests the service's promises in virtual time and with faults. See docs/explain/simulation.md. */

import { afterAll, describe, expect, it } from 'vitest';
import { bundleSource, endBundling, type Mistake } from './bundle.ts';
import { IsolatePool } from './environment.ts';
import { events } from './events.ts';
import { rateLimit } from './rate-limit.ts';
import { explain, type Part, run } from './simulation.ts';
import { BAD_EVENTS, BAD_RATE_LIMIT } from './variants.ts';

/** Default number of seeds. At least one of them must reveal the mistake of each variant. */
const RUNS = 30;
/** Number of seeds for the service without a mistake. */
const COUNT = process.env.FULL === '1' ? 1_000 : RUNS;
/** Generous, because a busy computer can take a minute for five seconds of work. */
const TIMEOUT_MS = 600_000;

function testPromises(part: Part, variants: Record<string, Mistake>): void {
  it(
    `keeps its promises in ${COUNT} runs`,
    async () => {
      const pool = new IsolatePool(await bundleSource());
      let [requests, successes] = [0, 0];
      for (let seed = 1; seed <= COUNT; seed += 1) {
        const { environment, violations } = await run(part, pool, String(seed));
        for (const { promise } of violations) {
          expect.fail(await explain(part, pool, String(seed), promise));
        }
        requests += environment.exchanges.length;
        successes += environment.exchanges.filter(
          ({ status }) => status === 200 || status === 202,
        ).length;
      }
      // A service that responds to every request with a 500 would break few promises.
      expect(successes).toBeGreaterThan(requests / 10);
    },
    TIMEOUT_MS,
  );

  it('behaves identically in two runs with the same seed', async () => {
    const pool = new IsolatePool(await bundleSource());
    const runOnce = async () => (await run(part, pool, '7', { hasHistory: true })).environment;
    const { history } = await runOnce();
    expect(history.length).toBeGreaterThan(0);
    expect((await runOnce()).history).toEqual(history);
  });

  describe(`breaks a promise within ${RUNS} runs if`, () => {
    it.each(Object.entries(variants))(
      '%s',
      async (_, mistake) => {
        const pool = new IsolatePool(await bundleSource(mistake));
        const brokenPromises: string[] = [];
        for (let seed = 1; seed <= RUNS && brokenPromises.length === 0; seed += 1) {
          const { violations } = await run(part, pool, String(seed));
          brokenPromises.push(...violations.map(({ promise }) => `seed ${seed}: ${promise}`));
        }
        expect(brokenPromises).not.toEqual([]);
      },
      TIMEOUT_MS,
    );
  });
}

afterAll(endBundling);

describe('the simulated ingest', () => testPromises(events, BAD_EVENTS));
describe('the simulated rate limit', () => testPromises(rateLimit, BAD_RATE_LIMIT));
