/** Stale responses of the feed, while D1 fails, stalls or is slow. */

import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import {
  atSecond,
  describeResponse,
  FAILING,
  faultsOfD1,
  freshPath,
  isolate,
  LIST,
  laggingReplica,
  rename,
  stalling,
  stopAtSecond,
  useDataCentre,
} from '../support/data-centre.ts';
import { expectError } from '../support/http.ts';
import { tapD1, tapMethods } from '../support/tap.ts';

const here = useDataCentre();

const LOCATIONS = '/api/v1/web/locations?fresh=true';

/** Makes imports, at the same second. The isolate learns each version by another page. */
async function importTimes(count: number, reader = here.one) {
  for (let index = 0; index < count; index += 1) {
    await rename(`After ${index}`);
    await reader.get({}, { path: LOCATIONS });
  }
}

describe('a page that nobody has read since some imports', () => {
  // Its version was checked at second 0, the sixth one after it at second 30. ttl = 60 - 61.
  it.each([
    ['memory', 'Before: isolate; hit; ttl=-1; detail=failed, Age 61'],
    ['the edge', 'Before: edge; hit; ttl=-1; detail=failed, isolate; fwd=miss, Age 61'],
  ])('is served after six of them while D1 fails, from %s', async (level, expected) => {
    atSecond(30);
    await importTimes(6);
    atSecond(61);
    const asked = level === 'memory' ? here.one : isolate();
    expect(await asked.read(FAILING)).toBe(expected);
  });

  it.each(['memory', 'the edge'])(
    'is served for as long as its own check allows, from %s',
    async (level) => {
      for (const second of [1_800, 3_600]) {
        atSecond(second);
        await importTimes(1);
      }
      const asked = level === 'memory' ? here.one : isolate();
      expect(await asked.read(FAILING)).toMatch(/^Before: .*detail=failed.*, Age 3600$/);
      atSecond(3_601);
      await expectError(await asked.get(FAILING), 500, 'internal_error');
    },
  );

  // The current version and 63 before it are known.
  it('is served after 63 imports within the hour, and not after 64', async () => {
    await importTimes(63);
    expect(await isolate().read(FAILING)).toMatch(/^Before: edge; hit/);
    await importTimes(1);
    await expectError(await isolate().get(FAILING), 500, 'internal_error');
  });

  it('costs one conditional read when D1 responds', async () => {
    await importTimes(6);
    const { d1RoundTrips } = here.one.costs;
    expect(await here.one.read()).toBe('After 5: edge; fwd=stale, isolate; fwd=stale');
    expect(here.one.costs.d1RoundTrips).toBe(d1RoundTrips + 1);
  });

  it('is not served where the listing is known to be missing since', async () => {
    await env.DB.prepare(`UPDATE properties SET status = 'hidden' WHERE slug = ?`)
      .bind(here.slug)
      .run();
    await importTimes(1);
    await expectError(await isolate().get({}, { path: freshPath() }), 404, 'resource_missing');
    atSecond(61);
    await expectError(await isolate().get(FAILING), 500, 'internal_error');
  });
});

describe('after a failure of D1', () => {
  // It fails at second 61. Until second 66, D1 is not asked: one read at the start, and the failed one.
  it('stale responses are served at once for 5 s', async () => {
    await rename('After');
    atSecond(61);
    await here.one.read(FAILING);
    atSecond(65.999);
    expect(await here.one.read()).toBe('Before: isolate; hit; ttl=-6; detail=failed, Age 65');
    expect(here.one.costs.d1RoundTrips).toBe(2);
    atSecond(66);
    expect(await here.one.read()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
  });

  it('the log has one line in 5 s', async () => {
    for (const [second, lines] of [
      [61, 1],
      [65.999, 1],
      [66, 2],
    ] as const) {
      atSecond(second);
      await here.one.get(FAILING, { path: freshPath() });
      expect(faultsOfD1()).toHaveLength(lines);
    }
  });

  it('a clock that jumps backwards ends the 5 s', async () => {
    await rename('After');
    atSecond(61);
    await here.one.read(FAILING);
    atSecond(-7_200);
    expect(await here.one.read()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
  });
});

describe('while D1 is slow or stalls', () => {
  /**
   * Reads from a D1 that stalls at a time after the start. Returns what is served, which takes
   * exactly so long.
   */
  async function readStalling(second: number, ms: number) {
    stopAtSecond(second);
    const { DB, called, open } = stalling();
    let served: string | undefined;
    const sending = here.one.send({ DB }).then(async ({ response }) => {
      served = await describeResponse(response);
    });
    await called;
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(served).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await sending;
    return { served, DB, open };
  }

  it.each([
    // Five minutes stale when D1 is slow, and a millisecond more.
    [359.7, 300, 'detail=slow, Age 360'],
    [359.701, 2_000, 'detail=failed, Age 361'],
  ])('a response %d s old is served after %d ms, and the read continues', async (age, ms, text) => {
    await rename('After');
    const { served, open } = await readStalling(age, ms);
    expect(served).toContain(text);
    open();
    await vi.waitFor(async () => expect(await here.one.read()).toMatch(/^After: isolate; hit/));
  });

  it('a stall is a fault: for 5 s any stale response is served at once', async () => {
    const { DB } = await readStalling(3_000, 2_000);
    expect(faultsOfD1()).toHaveLength(1);
    // The timers stand still: the request does not wait for D1. It was asked at the start and once.
    await here.one.send({ DB });
    expect(here.one.costs.d1RoundTrips).toBe(2);
  });

  // The stall is noted 2 s after its begin, at second 3,002.
  it('a stall is a fault: for a minute any stale response is served after 300 ms', async () => {
    await readStalling(3_000, 2_000);
    expect((await readStalling(3_061, 300)).served).toContain('Age 3061');
    expect((await readStalling(3_063, 2_000)).served).toContain('Age 3065');
  });
});

it('a read of two slow calls gets a 500 with Retry-After in 5 s', async () => {
  const missing = { path: `${LIST}/none-${here.slug}` };
  const replica = await laggingReplica();
  await rename('After');
  await here.one.get({}, { path: freshPath() });
  stopAtSecond(61);
  const called = Promise.withResolvers<void>();
  // The replica lacks the known version: the read is repeated at the primary.
  const DB = tapD1(replica, async (call) => {
    called.resolve();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    return call();
  });
  let response: Response | undefined;
  const sending = here.one.send({ DB }, missing).then((sent) => {
    ({ response } = sent);
  });
  await called.promise;
  await vi.advanceTimersByTimeAsync(4_999);
  expect(response).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await sending;
  await expectError(response ?? new Response(), 500, 'internal_error');
  expect(response?.headers.get('Retry-After')).toBe('2');
});

describe('an edge cache', () => {
  function replaceEdge(tap: Parameters<typeof tapMethods>[1]) {
    const replaced = tapMethods(caches.default, tap);
    vi.spyOn(caches, 'default', 'get').mockReturnValue(replaced);
  }

  // The check is of second 0. It is served after the 300 ms of a stall, or at once: ttl = 60 - 30.…
  it.each(['stalls', 'fails'])('that takes more than 20 ms is used if D1 %s', async (d1) => {
    stopAtSecond(30);
    const edge = Promise.withResolvers<void>();
    replaceEdge(async (call) => {
      await edge.promise;
      return call();
    });
    const { DB, called } = stalling();
    const sending = isolate().send(d1 === 'fails' ? FAILING : { DB });
    await vi.advanceTimersByTimeAsync(20);
    if (d1 === 'stalls') await called;
    edge.resolve();
    await vi.advanceTimersByTimeAsync(300);
    const { response } = await sending;
    expect(await describeResponse(response)).toBe('Before: edge; hit; ttl=29, isolate; fwd=miss');
  });

  it('that never responds delays the 500 of a D1 that fails by a second', async () => {
    stopAtSecond(30);
    replaceEdge(() => new Promise(() => {}));
    const sending = isolate().send(FAILING);
    await vi.advanceTimersByTimeAsync(1_000);
    await expectError((await sending).response, 500, 'internal_error');
  });

  // The timers stand still after the 20 ms, so nothing that waits longer for the edge cache responds.
  it('that never responds delays no response from memory while D1 fails', async () => {
    stopAtSecond(61);
    replaceEdge(() => new Promise(() => {}));
    const sending = here.one.send(FAILING);
    await vi.advanceTimersByTimeAsync(20);
    const { response } = await sending;
    expect(await describeResponse(response)).toBe(
      'Before: isolate; hit; ttl=-2; detail=failed, Age 61',
    );
  });
});
