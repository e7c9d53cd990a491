/** Which responses the feed's two cache levels serve, when they serve them, and what each response costs. */

import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { NOTHING } from '../support/counting.ts';
import {
  describeResponse,
  faultsOfD1,
  freshPath,
  isolate,
  LIST,
  laggingReplica,
  listingPath,
  logLines,
  rename,
  setSecond,
  stalling,
  stopAtSecond,
  useDataCentre,
} from '../support/data-centre.ts';
import { DOWN } from '../support/faults.ts';
import { expectError, expectStatus } from '../support/http.ts';
import { interceptD1, interceptMethods } from '../support/interceptor.ts';
import { makeListing, storeListings } from '../support/listings.ts';

const here = useDataCentre();
/** Options of a read of a different page, which confirms the current version. */
const CONFIRMING = { path: '/api/v1/web/locations?fresh=true' };

/**
 * Reads of a cached listing. The cached response was read at second 0, when the listing was called
 * `Before`. An import that no isolate has seen has renamed the listing to `After`. FEED_CACHE_SECONDS
 * is 60.
 *
 * - `age`: seconds since the last confirmation of the response's version. The `ttl` of the response is
 *   60 - age, and at most -1 if the response is stale.
 * - `imports`: earlier imports that the isolates have noticed, e.g. six at second 30
 * - `failure`: seconds since D1 failed or stalled. Negative if the clock was set back since then.
 * - `D1`: current behaviour of D1
 * - `from`: cache level that has the response
 * - `ms`: duration of the request in milliseconds
 * - `reads`: number of reads of D1
 */
const SERVED = `
  age     | imports       | failure       | D1       | from   | FEED_STALE | ms   | reads | response
  0       |               |               | responds | memory |            | 0    | 0     | Before: isolate; hit; ttl=60
  0       |               |               | responds | edge   |            | 0    | 0     | Before: edge; hit; ttl=60, isolate; fwd=miss
  59.999  |               |               | fails    | memory |            | 0    | 1     | Before: isolate; hit; ttl=0
  59.999  |               |               | fails    | edge   |            | 0    | 1     | Before: edge; hit; ttl=0, isolate; fwd=miss
  60      |               |               | responds | memory |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=stale
  60      |               |               | responds | edge   |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=miss
  7200    |               |               | responds | memory |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=stale
  -7200   |               |               | responds | memory |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=stale
  61      |               |               | fails    | memory |            | 0    | 1     | Before: isolate; hit; ttl=-1; detail=failed, Age 61
  61      |               |               | fails    | edge   |            | 0    | 1     | Before: edge; hit; ttl=-1; detail=failed, isolate; fwd=miss, Age 61
  3600    |               |               | fails    | memory |            | 0    | 1     | Before: isolate; hit; ttl=-3540; detail=failed, Age 3600
  3600    |               |               | fails    | edge   |            | 0    | 1     | Before: edge; hit; ttl=-3540; detail=failed, isolate; fwd=miss, Age 3600
  3601    |               |               | fails    | memory |            | 0    | 1     | 500
  3601    |               |               | fails    | edge   |            | 0    | 1     | 500
  60      |               |               | fails    | memory | 0          | 0    | 1     | 500
  60      |               |               | fails    | edge   | 0          | 0    | 1     | 500
  0       | 1 at 0        |               | fails    | memory |            | 0    | 1     | Before: isolate; hit; ttl=-1; detail=failed, Age 0
  0       | 1 at 0        |               | fails    | memory | 0          | 0    | 1     | 500
  61      | 6 at 30       |               | fails    | memory |            | 0    | 1     | Before: isolate; hit; ttl=-1; detail=failed, Age 61
  61      | 6 at 30       |               | fails    | edge   |            | 0    | 1     | Before: edge; hit; ttl=-1; detail=failed, isolate; fwd=miss, Age 61
  3600    | 2 at 1800     |               | fails    | memory |            | 0    | 1     | Before: isolate; hit; ttl=-3540; detail=failed, Age 3600
  3600    | 2 at 1800     |               | fails    | edge   |            | 0    | 1     | Before: edge; hit; ttl=-3540; detail=failed, isolate; fwd=miss, Age 3600
  3601    | 2 at 1800     |               | fails    | memory |            | 0    | 1     | 500
  3601    | 2 at 1800     |               | fails    | edge   |            | 0    | 1     | 500
  0       | 6 at 0        |               | responds | memory |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=stale
  65.999  |               | failed 4.999  | stalls   | memory |            | 0    | 0     | Before: isolate; hit; ttl=-6; detail=failed, Age 65
  66      |               | failed 5      | responds | memory |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=stale
  61      |               | failed -39    | responds | memory |            | 0    | 1     | After: edge; fwd=stale, isolate; fwd=stale
  3004.9  |               | stalled 4.9   | stalls   | memory |            | 0    | 0     | Before: isolate; hit; ttl=-2945; detail=failed, Age 3004
  3061    |               | stalled 59.69 | stalls   | memory |            | 300  | 1     | Before: isolate; hit; ttl=-3002; detail=failed, Age 3061
  3061    |               | stalled 59.7  | stalls   | memory |            | 2000 | 1     | Before: isolate; hit; ttl=-3003; detail=failed, Age 3063
  359.7   |               |               | stalls   | memory |            | 300  | 1     | Before: isolate; hit; ttl=-300; detail=slow, Age 360
  359.701 |               |               | stalls   | memory |            | 2000 | 1     | Before: isolate; hit; ttl=-302; detail=failed, Age 361
`;
const [, ...rows] = SERVED.trim().split('\n');

/** Sends a read during which D1 fails or stalls for two seconds. The failure or stall ends at `second`. */
async function breakUntil(second: number, how: string) {
  const isStall = how === 'stalled';
  stopAtSecond(isStall ? second - 2 : second);
  const { DB, called } = stalling();
  const sending = here.one.send(isStall ? { DB } : DOWN);
  if (isStall) {
    await called;
    await vi.advanceTimersByTimeAsync(2_000);
  }
  await sending;
  expect(faultsOfD1()).toHaveLength(1);
}

describe('a read', () => {
  it.each(rows.map((row) => row.split('|').map((cell) => cell.trim())))(
    'serves the expected response (age %s, imports %s, failure %s, D1 %s, from %s, FEED_STALE %s → %s ms, %s reads, %s)',
    async (age, imports = '', failure = '', d1 = '', from, stale, ms, reads, expected = '') => {
      const vars = stale ? { FEED_STALE_SECONDS: stale } : {};
      const reader = stale ? isolate(vars) : here.one;
      await reader.read();
      const [count = 0, since = 0] = imports.split(' at ').map(Number);
      setSecond(since);
      for (let index = 0; index < count; index += 1) {
        await rename('Between');
        await reader.get({}, CONFIRMING);
      }
      await rename('After');
      const [how, ago] = failure.split(' ');
      if (how) await breakUntil(Number(age) - Number(ago), how);

      stopAtSecond(Number(age));
      const server = from === 'memory' ? reader : isolate(vars);
      Object.assign(server.costs, NOTHING);
      const { DB, called, open } = stalling();
      let sent: Awaited<ReturnType<typeof server.send>> | undefined;
      const sending = server.send({ fails: DOWN, stalls: { DB } }[d1]).then((call) => {
        sent = call;
      });
      if (ms !== '0') {
        await called;
        await vi.advanceTimersByTimeAsync(Number(ms) - 1);
        expect(sent).toBeUndefined();
        await vi.advanceTimersByTimeAsync(1);
      }
      await sending;
      const { response = new Response(), settled } = sent ?? {};
      if (expected === '500') await expectError(response, 500, 'internal_error');
      else expect(await describeResponse(response)).toBe(expected);
      // The stalled read now completes, and its response is cached.
      open();
      await settled;
      expect(String(server.costs.d1RoundTrips)).toBe(reads);
      if (d1 !== 'fails' && reads !== '0') {
        expect(await server.read()).toMatch(/^After: isolate; hit; ttl=/);
      }
    },
  );
});

describe('a cached response', () => {
  // A revalidation is due after 45 s, so one of the three requests at each of the seconds 46, 92, … 966
  // revalidates the version. Each of these 21 revalidations reads one row.
  it('reads one row to revalidate all pages of an isolate', async () => {
    const paths = [LIST, `${listingPath()}?locale=en`, '/api/v1/web/locations'];
    for (const path of paths) await here.one.get({}, { path });
    Object.assign(here.one.costs, NOTHING);
    for (let second = 46; second < 1_000; second += 46) {
      setSecond(second);
      for (const path of paths) {
        const response = await here.one.get({}, { path });
        expect(response.headers.get('Cache-Status')).toMatch(/^isolate; hit/);
      }
    }
    expect(here.one.costs).toMatchObject({ d1RoundTrips: 21, d1RowsRead: 21 });
  });

  // One row is the version in the batch, and the other is the version that the LIMIT compares.
  it('costs two rows when it is stale and its version is unchanged', async () => {
    const insert = `INSERT INTO locations (id, slug, name) VALUES (?, 'a', '{}')`;
    await env.DB.prepare(insert).bind(crypto.randomUUID()).run();
    const paths = [LIST, listingPath(), '/api/v1/web/locations'];
    for (const path of paths) await here.one.get({}, { path });
    const returned: unknown[] = [];
    const DB = interceptD1(env.DB, async (call) => {
      const [version, page] = await call();
      returned.push(...(page?.results ?? []));
      return [version, page].filter((result) => result !== undefined);
    });
    for (const [index, path] of paths.entries()) {
      setSecond(61 * (index + 1));
      Object.assign(here.one.costs, NOTHING);
      await expectStatus(await here.one.get({ DB }, { path }), 200);
      expect(here.one.costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 2 });
    }
    expect(returned).toEqual([]);
  });

  // D1 is read once for the listing at the start and once for the list. At 45 s, the revalidation
  // finds the import, and the listing is read again.
  it('is read once more after a revalidation has found an import', async () => {
    await here.one.get({}, { path: LIST });
    await rename('After');
    for (const [second, reads, expected] of [
      [44.999, 2, 'Before: isolate; hit; ttl=15'],
      [45, 3, 'Before: isolate; hit; ttl=15'],
      [45, 4, 'After: edge; fwd=stale, isolate; fwd=stale'],
      [45, 4, 'After: isolate; hit; ttl=60'],
    ] as const) {
      setSecond(second);
      expect(await here.one.read()).toBe(expected);
      expect(here.one.costs.d1RoundTrips).toBe(reads);
    }
    const list = await here.one.get({}, { path: LIST });
    expect(await list.text()).toContain('After');
  });

  // The two round trips are the read at the start and one revalidation.
  it('is revalidated by one request at a time', async () => {
    setSecond(50);
    const { DB, open } = stalling();
    const sent = await Promise.all(Array.from({ length: 10 }, () => here.one.send({ DB })));
    open();
    await Promise.all(sent.map(({ settled }) => settled));
    expect(here.one.costs.d1RoundTrips).toBe(2);
  });

  // The revalidation at second 45 fails.
  it('is revalidated again 6 s after a failed revalidation', async () => {
    for (const [second, reads] of [
      [45, 2],
      [50.999, 2],
      [51, 3],
    ] as const) {
      setSecond(second);
      expect(await here.one.read(DOWN)).toMatch(/^Before: isolate; hit/);
      expect(here.one.costs.d1RoundTrips).toBe(reads);
    }
  });

  it('is revalidated again immediately after a successful revalidation', async () => {
    const reader = isolate({ FEED_CACHE_SECONDS: '4' });
    for (const [second, reads] of [
      [0, 0],
      [3, 1],
      [6, 2],
    ] as const) {
      setSecond(second);
      expect(await reader.read()).toMatch(/^Before: .*hit; ttl=/);
      expect(reader.costs.d1RoundTrips).toBe(reads);
    }
  });

  it('is shared only by equivalent requests', async () => {
    const first = await here.one.get(
      {},
      { path: `${LIST}?status=listed,sold_out&limit=2&utm_source=a` },
    );
    const same = await here.one.get(DOWN, { path: `${LIST}?limit=2&status=sold_out,listed` });
    expect(same.headers.get('ETag')).toBe(first.headers.get('ETag'));
    for (const other of ['?limit=2', '?limit=3&status=listed,sold_out', '/no-such-home']) {
      const response = await here.one.get(DOWN, { path: `${LIST}${other}` });
      await expectError(response, 500, 'internal_error');
    }
  });

  it('answers a conditional request with a 304 without reading D1', async () => {
    const etag = (await here.one.get()).headers.get('ETag') ?? '';
    for (const [reader, sent] of [
      [here.one, etag],
      [isolate(), `"other", W/${etag}`],
      [isolate(), etag.replace(/"$/, '-gzip"')],
      [isolate(), etag.replace(/"$/, ';gzip"')],
      [isolate(), etag.replace(/"$/, '-br"')],
      [here.one, '*'],
    ] as const) {
      const response = await reader.get(DOWN, { headers: { 'If-None-Match': sent } });
      await expectStatus(response, 304);
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      expect(response.headers.get('ETag')).toBe(etag);
      expect(response.headers.get('Cache-Control')).toBe('private, max-age=0, must-revalidate');
      expect(response.headers.get('RateLimit')).toMatch(/^"default";r=99;t=(5[6-9]|60)$/);
      expect(await response.text()).toBe('');
    }
    await rename('After');
    const sent = { path: freshPath(), headers: { 'If-None-Match': etag } };
    expect(await describeResponse(await here.one.get({}, sent))).toMatch(/^After/);
  });

  it('is copied to memory when it is served stale from the edge', async () => {
    setSecond(61);
    const reader = isolate();
    expect(await reader.read(DOWN)).toMatch(/^Before: edge; hit; ttl=-1/);
    expect(await reader.read(DOWN)).toMatch(/^Before: isolate; hit; ttl=-1/);
  });

  it('is not used for a different PUBLIC_SITE_URL', async () => {
    const moved = await isolate({ PUBLIC_SITE_URL: 'https://new.example.com/' }).get();
    const { url } = await moved.json<{ url: string }>();
    expect(url).toBe(`https://new.example.com/listings/${here.slug}`);
  });

  // `here.one` reads D1 for the listing at the start, and for the first request for the missing listing.
  it('can be a 404 until an import publishes the listing', async () => {
    const path = `${listingPath()}-new`;
    for (const [reader, cacheStatus] of [
      [here.one, 'edge; fwd=miss, isolate; fwd=miss'],
      [here.one, 'isolate; hit; ttl=60'],
      [isolate(), 'edge; hit; ttl=60, isolate; fwd=miss'],
    ] as const) {
      const response = await reader.get({}, { path });
      await expectError(response, 404, 'resource_missing');
      expect(response.headers.get('Cache-Status')).toBe(cacheStatus);
      expect(reader.costs.d1RoundTrips).toBe(reader === here.one ? 2 : 0);
    }
    setSecond(61);
    await expectError(await here.one.get(DOWN, { path }), 500, 'internal_error');
    await storeListings(env.DB, [makeListing({ slug: `${here.slug}-new` })]);
    setSecond(67);
    // The isolate finds the new version when it reads another page.
    await here.one.read();
    await expectStatus(await here.one.get({}, { path }), 200);
  });

  it('is not served after the listing is found to be missing', async () => {
    await env.DB.prepare(`UPDATE properties SET status = 'hidden' WHERE slug = ?`)
      .bind(here.slug)
      .run();
    await rename('After');
    await here.one.get({}, CONFIRMING);
    await expectError(await isolate().get({}, { path: freshPath() }), 404, 'resource_missing');
    setSecond(61);
    await expectError(await isolate().get(DOWN), 500, 'internal_error');
  });

  // The listing takes about 1,300 bytes, and its cache entry another 512. A sixteenth of 10,000 is 625,
  // and a sixteenth of 100,000 is 6,250.
  it.each([
    ['10000', 'Before: edge; hit; ttl=60, isolate; fwd=miss'],
    ['100000', 'Before: isolate; hit; ttl=60'],
  ])(
    'is kept in memory if it fits into a sixteenth of FEED_MEMORY_BYTES=%s → %s',
    async (FEED_MEMORY_BYTES, expected) => {
      const reader = isolate({ FEED_MEMORY_BYTES });
      await reader.read();
      expect(await reader.read()).toBe(expected);
    },
  );

  it('is never stored if FEED_CACHE_SECONDS is 0', async () => {
    const put = vi.spyOn(caches.default, 'put');
    const reader = isolate({ FEED_CACHE_SECONDS: '0' });
    await reader.read();
    expect(put).not.toHaveBeenCalled();
    await rename('After');
    expect(await reader.read()).toBe('After: edge; fwd=bypass, isolate; fwd=bypass');
    await expectError(await reader.get(DOWN), 500, 'internal_error');
  });
});

describe('fresh=true', () => {
  it('shows an import in its own response and in later responses', async () => {
    const DB = await laggingReplica();
    await rename('After');
    const fresh = await here.one.get({ DB }, { path: freshPath() });
    expect(await describeResponse(fresh)).toBe('After: edge; fwd=request, isolate; fwd=request');
    expect(await here.one.read()).toBe('After: isolate; hit; ttl=60');
  });

  it('never returns a stale response', async () => {
    const failed = await here.one.get(DOWN, { path: freshPath() });
    await expectError(failed, 500, 'internal_error');
  });

  it.each([
    [true, {}, 'edge; fwd=request, isolate; fwd=request'],
    [false, DOWN, 'isolate; hit; ttl=60'],
  ])('accepts every spelling of %s', async (isFresh, bindings, status) => {
    for (const sent of isFresh ? ['true', 'True', '1'] : ['false', 'FALSE', '0']) {
      const read = await here.one.get(bindings, { path: `${listingPath()}?fresh=${sent}` });
      expect(read.headers.get('Cache-Status')).toBe(status);
    }
  });
});

describe('a read of D1', () => {
  it('returns a 500 with Retry-After if its two calls take more than 5 s', async () => {
    const missing = { path: `${LIST}/none-${here.slug}` };
    const replica = await laggingReplica();
    await rename('After');
    await here.one.get({}, { path: freshPath() });
    stopAtSecond(61);
    const called = Promise.withResolvers<void>();
    // The replica does not have the current version, so the read is repeated at the primary.
    const DB = interceptD1(replica, async (call) => {
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
});

describe('the edge cache', () => {
  function replaceEdge(intercept: Parameters<typeof interceptMethods>[1]) {
    const replaced = interceptMethods(caches.default, intercept);
    vi.spyOn(caches, 'default', 'get').mockReturnValue(replaced);
  }

  // The response was confirmed at second 0. It is served after the 300 ms of a stall, or immediately
  // after a failure, so its ttl is below 30 s.
  it.each(['stalls', 'fails'])('is still used after 20 ms if D1 %s', async (d1) => {
    stopAtSecond(30);
    const edge = Promise.withResolvers<void>();
    replaceEdge(async (call) => {
      await edge.promise;
      return call();
    });
    const { DB, called } = stalling();
    const sending = isolate().send(d1 === 'fails' ? DOWN : { DB });
    await vi.advanceTimersByTimeAsync(20);
    if (d1 === 'stalls') await called;
    edge.resolve();
    await vi.advanceTimersByTimeAsync(300);
    const { response } = await sending;
    expect(await describeResponse(response)).toBe('Before: edge; hit; ttl=29, isolate; fwd=miss');
  });

  it('delays a 500 by at most one second if it never responds', async () => {
    stopAtSecond(30);
    replaceEdge(() => new Promise(() => {}));
    const sending = isolate().send(DOWN);
    await vi.advanceTimersByTimeAsync(1_000);
    await expectError((await sending).response, 500, 'internal_error');
  });

  // The test advances the timers by only 20 ms, so a response that waited longer for the edge cache would
  // never arrive.
  it('does not delay a response served from memory while D1 fails', async () => {
    stopAtSecond(61);
    replaceEdge(() => new Promise(() => {}));
    const sending = here.one.send(DOWN);
    await vi.advanceTimersByTimeAsync(20);
    const { response } = await sending;
    expect(await describeResponse(response)).toBe(
      'Before: isolate; hit; ttl=-2; detail=failed, Age 61',
    );
  });
});

describe('the log', () => {
  it('contains at most one line about D1 every 5 s', async () => {
    for (const [second, lines] of [
      [61, 1],
      [65.999, 1],
      [66, 2],
    ] as const) {
      setSecond(second);
      await here.one.get(DOWN, { path: freshPath() });
      expect(faultsOfD1()).toHaveLength(lines);
    }
  });

  it('names the source of each response', async () => {
    await here.one.read();
    await isolate().read();
    setSecond(61);
    await here.one.read(DOWN);
    const sources = logLines().map(({ cache }) => cache);
    expect(sources).toEqual(['database', 'memory', 'edge', 'stale']);
  });
});
