/** The feed's two cache levels: which responses they serve, to which requests, and for how long. */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { NOTHING } from '../support/counting.ts';
import {
  atSecond,
  describeResponse,
  FAILING,
  freshPath,
  isolate,
  LIST,
  laggingReplica,
  listingPath,
  logLines,
  moveToAnotherDataCentre,
  rename,
  stalling,
  useDataCentre,
} from '../support/data-centre.ts';
import { expectError, expectStatus } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const here = useDataCentre();

describe('a cached response', () => {
  // Current until its check is 60 s old (FEED_CACHE_SECONDS), then usable while D1 fails until the
  // check is 3,600 s old (FEED_STALE_SECONDS). ttl = 60 - age, and at most -1 when it is stale.
  it.each([
    [0, 'runs', '3600', 'memory', 'Before: isolate; hit; ttl=60'],
    [0, 'runs', '3600', 'edge', 'Before: edge; hit; ttl=60, isolate; fwd=miss'],
    [59.999, 'fails', '3600', 'memory', 'Before: isolate; hit; ttl=0'],
    [59.999, 'fails', '3600', 'edge', 'Before: edge; hit; ttl=0, isolate; fwd=miss'],
    [60, 'runs', '3600', 'memory', 'After: edge; fwd=stale, isolate; fwd=stale'],
    [60, 'runs', '3600', 'edge', 'After: edge; fwd=stale, isolate; fwd=miss'],
    [61, 'fails', '3600', 'memory', 'Before: isolate; hit; ttl=-1; detail=failed, Age 61'],
    [
      61,
      'fails',
      '3600',
      'edge',
      'Before: edge; hit; ttl=-1; detail=failed, isolate; fwd=miss, Age 61',
    ],
    [3_600, 'fails', '3600', 'memory', 'Before: isolate; hit; ttl=-3540; detail=failed, Age 3600'],
    [
      3_600,
      'fails',
      '3600',
      'edge',
      'Before: edge; hit; ttl=-3540; detail=failed, isolate; fwd=miss, Age 3600',
    ],
    [3_601, 'fails', '3600', 'memory', '500'],
    [3_601, 'fails', '3600', 'edge', '500'],
    [60, 'fails', '0', 'memory', '500'],
    [60, 'fails', '0', 'edge', '500'],
  ])(
    '%d s after its check, while D1 %s, FEED_STALE_SECONDS is %s and %s has it: %s',
    async (age, d1, FEED_STALE_SECONDS, level, expected) => {
      moveToAnotherDataCentre();
      const reader = isolate({ FEED_STALE_SECONDS });
      await reader.read();
      await rename('After');
      atSecond(age);
      const asked = level === 'memory' ? reader : isolate({ FEED_STALE_SECONDS });
      const response = await asked.get(d1 === 'fails' ? FAILING : {});
      if (expected === '500') await expectError(response, 500, 'internal_error');
      else expect(await describeResponse(response)).toBe(expected);
    },
  );

  // Every 46 s the check is due (45 s), so one request of the three renews it: seconds 46, 92, …
  // 966 are 21 renewals of one row each.
  it('costs one row per renewal of the check, for all pages of an isolate', async () => {
    const paths = [LIST, `${listingPath()}?locale=en`, '/api/v1/web/locations'];
    for (const path of paths) await here.one.get({}, { path });
    Object.assign(here.one.costs, NOTHING);
    for (let second = 46; second < 1_000; second += 46) {
      atSecond(second);
      for (const path of paths) {
        const response = await here.one.get({}, { path });
        expect(response.headers.get('Cache-Status')).toMatch(/^isolate; hit/);
      }
    }
    expect(here.one.costs).toMatchObject({ d1RoundTrips: 21, d1RowsRead: 21 });
  });

  it('needs no read of D1 in a new isolate, which has the check from the edge cache', async () => {
    atSecond(46);
    await here.one.read();
    atSecond(90);
    const other = isolate();
    expect(await other.read()).toMatch(/^Before: edge; hit; ttl=16,/);
    expect(other.costs.d1RoundTrips).toBe(0);
  });

  // A conditional read: the row of the version in the batch, and the row that the limit compares.
  it('costs two rows when its check has ended and its version has not changed', async () => {
    await here.one.get({}, { path: LIST });
    Object.assign(here.one.costs, NOTHING);
    atSecond(61);
    await expectStatus(await here.one.get({}, { path: LIST }), 200);
    expect(here.one.costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 2 });
  });

  it('costs one round trip when its check has ended and its version has changed', async () => {
    await here.one.get({}, { path: LIST });
    await rename('After');
    Object.assign(here.one.costs, NOTHING);
    atSecond(61);
    const changed = await here.one.get({}, { path: LIST });
    expect(await changed.text()).toContain('"After"');
    expect(here.one.costs).toMatchObject({ d1RoundTrips: 1 });
  });

  // Reads of D1: 1 for the listing at the start, 1 for the list, then at 45 s (due) the renewal,
  // which finds the import, and the read of the listing.
  it('is read again once when the renewed check finds an import', async () => {
    await here.one.get({}, { path: LIST });
    await rename('After');
    for (const [second, reads, expected] of [
      [44.999, 2, 'Before: isolate; hit; ttl=15'],
      [45, 3, 'Before: isolate; hit; ttl=15'],
      [45, 4, 'After: edge; fwd=stale, isolate; fwd=stale'],
      [45, 4, 'After: isolate; hit; ttl=60'],
    ] as const) {
      atSecond(second);
      expect(await here.one.read()).toBe(expected);
      expect(here.one.costs.d1RoundTrips).toBe(reads);
    }
    const list = await here.one.get({}, { path: LIST });
    expect(await list.text()).toContain('After');
  });

  // One read at the start, and one renewal.
  it('has its check renewed by one request at a time', async () => {
    atSecond(50);
    const { DB, open } = stalling();
    const sent = await Promise.all(Array.from({ length: 10 }, () => here.one.send({ DB })));
    open();
    await Promise.all(sent.map(({ settled }) => settled));
    expect(here.one.costs.d1RoundTrips).toBe(2);
  });

  // The renewal of second 45 fails. The next one is due 6 s later.
  it('has its check renewed again some seconds after a failure', async () => {
    for (const [second, reads] of [
      [45, 2],
      [50.999, 2],
      [51, 3],
    ] as const) {
      atSecond(second);
      expect(await here.one.read(FAILING)).toMatch(/^Before: isolate; hit/);
      expect(here.one.costs.d1RoundTrips).toBe(reads);
    }
  });

  it('is shared by equal requests, and by no others', async () => {
    const first = await here.one.get(
      {},
      { path: `${LIST}?status=listed,sold_out&limit=2&utm_source=a` },
    );
    const same = await here.one.get(FAILING, { path: `${LIST}?limit=2&status=sold_out,listed` });
    expect(same.headers.get('ETag')).toBe(first.headers.get('ETag'));
    for (const other of ['?limit=2', '?limit=3&status=listed,sold_out', '/no-such-home']) {
      const response = await here.one.get(FAILING, { path: `${LIST}${other}` });
      await expectError(response, 500, 'internal_error');
    }
  });

  it('is a 304 without a read of D1, from memory and from the edge', async () => {
    const etag = (await here.one.get()).headers.get('ETag') ?? '';
    for (const [again, sent] of [
      [here.one, etag],
      [isolate(), `"other", W/${etag}`],
      [isolate(), etag.replace(/"$/, '-gzip"')],
      [isolate(), etag.replace(/"$/, ';gzip"')],
      [isolate(), etag.replace(/"$/, '-br"')],
      [here.one, '*'],
    ] as const) {
      const response = await again.get(FAILING, { headers: { 'If-None-Match': sent } });
      await expectStatus(response, 304);
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      expect(response.headers.get('ETag')).toBe(etag);
      expect(response.headers.get('Cache-Control')).toBe('private, max-age=0, must-revalidate');
      expect(response.headers.get('RateLimit')).toBe(`"default";r=99;t=${WINDOW_SECONDS}`);
      expect(await response.text()).toBe('');
    }
  });

  it.each([
    '/api/v1/web/properties',
    '/api/v1/web/property-cards',
    '/api/v1/web/locations',
    'a listing',
  ])('may be kept by its client, who asks before each use: %s', async (path) => {
    const asked = path === 'a listing' ? listingPath() : path;
    for (const reader of [here.one, here.one, isolate()]) {
      const { headers } = await reader.get({}, { path: asked });
      expect(headers.get('Cache-Control')).toBe('private, max-age=0, must-revalidate');
    }
  });

  it('is used for no other site address', async () => {
    const moved = await isolate({ PUBLIC_SITE_URL: 'https://new.example.com/' }).get();
    const { url } = await moved.json<{ url: string }>();
    expect(url).toBe(`https://new.example.com/listings/${here.slug}`);
  });

  // `one` has read the listing at the start; the second read of the missing one is from memory.
  it('of a missing listing is a 404 until an import publishes the listing', async () => {
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
    atSecond(61);
    await expectError(await here.one.get(FAILING, { path }), 500, 'internal_error');
    await storeListings(env.DB, [sourceOf({ slug: `${here.slug}-new` })]);
    atSecond(67);
    // The isolate learns the version by another page.
    await here.one.read();
    await expectStatus(await here.one.get({}, { path }), 200);
  });

  // The listing has about 1,300 bytes, and each entry 512 more: a sixteenth of 10,000 is 625, of
  // 100,000 is 6,250.
  it.each([
    ['10000', 'Before: edge; hit; ttl=60, isolate; fwd=miss'],
    ['100000', 'Before: isolate; hit; ttl=60'],
  ])(
    'is in memory only up to a sixteenth of it: FEED_MEMORY_BYTES=%s, %s',
    async (FEED_MEMORY_BYTES, expected) => {
      const reader = isolate({ FEED_MEMORY_BYTES });
      await reader.read();
      expect(await reader.read()).toBe(expected);
    },
  );

  it('does not exist if FEED_CACHE_SECONDS is 0', async () => {
    const reader = isolate({ FEED_CACHE_SECONDS: '0' });
    await reader.read();
    await rename('After');
    expect(await reader.read()).toBe('After: edge; fwd=bypass, isolate; fwd=bypass');
    await expectError(await reader.get(FAILING), 500, 'internal_error');
  });
});

describe('fresh=true', () => {
  it('shows an import at once, and the requests after it show it too', async () => {
    const DB = await laggingReplica();
    await rename('After');
    const fresh = await here.one.get({ DB }, { path: freshPath() });
    expect(await describeResponse(fresh)).toBe('After: edge; fwd=request, isolate; fwd=request');
    expect(await here.one.read()).toBe('After: isolate; hit; ttl=60');
  });

  it('gets no stale response', async () => {
    const failed = await here.one.get(FAILING, { path: freshPath() });
    await expectError(failed, 500, 'internal_error');
  });

  it.each(['true', 'True', '1'])('is %s', async (sent) => {
    const read = await here.one.get({}, { path: `${listingPath()}?fresh=${sent}` });
    expect(read.headers.get('Cache-Status')).toBe('edge; fwd=request, isolate; fwd=request');
  });

  it.each(['false', 'FALSE', '0'])('is not %s, which reads the caches', async (sent) => {
    const cached = await here.one.get(FAILING, { path: `${listingPath()}?fresh=${sent}` });
    expect(await describeResponse(cached)).toBe('Before: isolate; hit; ttl=60');
  });

  it('has no other value', async () => {
    const response = await here.one.get({}, { path: `${listingPath()}?fresh=yes` });
    expect((await expectError(response, 400, 'validation_error')).param).toBe('fresh');
  });
});

it('the log has the source of each response', async () => {
  await here.one.read();
  await isolate().read();
  atSecond(61);
  await here.one.read(FAILING);
  const sources = logLines().map((line) => JSON.parse(line).cache);
  expect(sources).toEqual(['database', 'memory', 'edge', 'stale']);
});
