/**
 * The promises of the service, in virtual time and with everything that can fail. See
 * docs/explain/simulation.md.
 */

import { afterAll, describe, expect, it } from 'vitest';
import { bundleSource, endBundling, type Mistake } from './bundle.ts';
import { Fleet } from './environment.ts';
import { events } from './events.ts';
import { rateLimit } from './rate-limit.ts';
import { explain, type Part, run } from './simulation.ts';
import { BAD_EVENTS, BAD_RATE_LIMIT } from './variants.ts';

/** The seeds of the short form. Each variant must be found by one of them. */
const RUNS = 30;
/** The seeds of the short form, or of the long one. */
const COUNT = process.env.FULL === '1' ? 1_000 : RUNS;
/** A busy machine takes a minute for five seconds of work. */
const TIMEOUT_MS = 600_000;

function prove(part: Part, variants: Record<string, Mistake>): void {
  it(
    `keeps its promises in each of ${COUNT} runs`,
    async () => {
      const fleet = new Fleet(await bundleSource());
      let [requests, successes] = [0, 0];
      for (let seed = 1; seed <= COUNT; seed += 1) {
        const { world, violations } = await run(part, fleet, String(seed));
        for (const { promise } of violations) {
          expect.fail(await explain(part, fleet, String(seed), promise));
        }
        requests += world.exchanges.length;
        successes += world.exchanges.filter(
          ({ status }) => status === 200 || status === 202,
        ).length;
      }
      // A service that responds to every request with a 500 would break few promises.
      expect(successes).toBeGreaterThan(requests / 10);
    },
    TIMEOUT_MS,
  );

  it('does the same again for the same seed', async () => {
    const fleet = new Fleet(await bundleSource());
    const first = (await run(part, fleet, '7')).world.history;
    expect(first.length).toBeGreaterThan(0);
    expect((await run(part, fleet, '7')).world.history).toEqual(first);
  });

  describe(`finds within ${RUNS} runs that`, () => {
    it.each(Object.entries(variants))(
      '%s',
      async (_, mistake) => {
        const fleet = new Fleet(await bundleSource(mistake));
        const found: string[] = [];
        for (let seed = 1; seed <= RUNS && found.length === 0; seed += 1) {
          const { violations } = await run(part, fleet, String(seed));
          found.push(...violations.map(({ promise }) => `seed ${seed}: ${promise}`));
        }
        expect(found).not.toEqual([]);
      },
      TIMEOUT_MS,
    );
  });
}

afterAll(endBundling);

describe('the ingest, simulated', () => prove(events, BAD_EVENTS));
describe('the rate limit, simulated', () => prove(rateLimit, BAD_RATE_LIMIT));
