/** Tests the promises of the service in virtual time, with faults: docs/explain/simulation.md. */

import { afterAll, describe, expect, it } from 'vitest';
import { bundleSource, endBundling, type Mistake } from './bundle.ts';
import { IsolatePool } from './environment.ts';
import { events } from './events.ts';
import { rateLimit } from './rate-limit.ts';
import { explain, type Part, run } from './simulation.ts';
import { BAD_EVENTS, BAD_RATE_LIMIT } from './variants.ts';

/** Number of seeds by default. One of them must find each variant. */
const RUNS = 30;
/** Number of seeds of the real service. */
const COUNT = process.env.FULL === '1' ? 1_000 : RUNS;
/** A busy computer takes a minute for five seconds of work. */
const TIMEOUT_MS = 600_000;

function testPromises(part: Part, variants: Record<string, Mistake>): void {
  it(
    `keeps its promises in each of ${COUNT} runs`,
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

  it('repeats a run with the same seed exactly', async () => {
    const pool = new IsolatePool(await bundleSource());
    const runOnce = async () => (await run(part, pool, '7', { hasHistory: true })).environment;
    const { history } = await runOnce();
    expect(history.length).toBeGreaterThan(0);
    expect((await runOnce()).history).toEqual(history);
  });

  describe(`finds within ${RUNS} runs that`, () => {
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

describe('the ingest, simulated', () => testPromises(events, BAD_EVENTS));
describe('the rate limit, simulated', () => testPromises(rateLimit, BAD_RATE_LIMIT));
