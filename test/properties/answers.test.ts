/** The feed's two cache levels: which answers are fresh, cached, and given when D1 fails. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { property } from '../../src/properties/resource.ts';
import {
  API_KEY,
  expectDocumented,
  expectError,
  expectStatus,
  freshAddress,
} from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const LIST = '/api/v1/web/properties';

/** A D1 that fails. The rest of the service is untouched. */
const failingD1 = { withSession: () => failing() } as unknown as D1Database;

function failing(): never {
  throw new Error('D1_ERROR: out of order');
}

/** Makes an isolate with its own memory and the data centre's edge cache. Each test has its own data centre. */
function isolate(changes: Partial<Env> = {}) {
  const app = createApp();
  const settings = { ...env, FEED_CACHE_SECONDS: '60', ...changes };
  return async function call(path: string, now: Partial<Env> = {}, headers: HeadersInit = {}) {
    const ctx = createExecutionContext();
    const request = new Request(`https://${host}${path}`, {
      headers: {
        'x-api-key': API_KEY,
        'CF-Connecting-IP': freshAddress(),
        ...Object.fromEntries(new Headers(headers)),
      },
    });
    const response = await app.fetch(request, { ...settings, ...now }, ctx);
    await expectDocumented(request, response);
    await waitOnExecutionContext(ctx);
    return response;
  };
}

let host = '';
let slug = '';
let faultLog: MockInstance<typeof console.error>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  faultLog = vi.spyOn(console, 'error').mockReturnValue(undefined);
  host = `${crypto.randomUUID()}.example.com`;
  slug = `home-${crypto.randomUUID().slice(0, 8)}x`;
  await storeListings(env.DB, [sourceOf({ slug, name: 'Before' })]);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function rename() {
  await env.DB.prepare(
    `UPDATE properties SET document = json_set(document, '$.name', 'After') WHERE slug = ?`,
  )
    .bind(slug)
    .run();
}

async function nameIn(response: Response): Promise<string> {
  await expectStatus(response, 200);
  return property.parse(await response.json()).name;
}

describe('an answer', () => {
  it('comes from the isolate for 60 seconds from its D1 read, then from D1', async () => {
    const call = isolate();
    expect(await nameIn(await call(`${LIST}/${slug}`))).toBe('Before');
    await rename();
    vi.setSystemTime(Date.now() + 59_999);
    expect(await nameIn(await call(`${LIST}/${slug}`, { DB: failingD1 }))).toBe('Before');
    // The renewal has failed: older answers would be given for 5 s.
    vi.setSystemTime(Date.now() + 5_000);
    expect(await nameIn(await call(`${LIST}/${slug}`))).toBe('After');
  });

  it('reaches another isolate through the edge cache, and is no younger there', async () => {
    await isolate()(`${LIST}/${slug}`);
    await rename();
    vi.setSystemTime(Date.now() + 40_000);
    const other = isolate();
    expect(await nameIn(await other(`${LIST}/${slug}`, { DB: failingD1 }))).toBe('Before');
    vi.setSystemTime(Date.now() + 19_999);
    expect(await nameIn(await other(`${LIST}/${slug}`, { DB: failingD1 }))).toBe('Before');
    vi.setSystemTime(Date.now() + 1);
    expect(await nameIn(await isolate()(`${LIST}/${slug}`))).toBe('After');
  });

  it('is shared by equal requests, and by no others', async () => {
    const call = isolate();
    const first = await call(`${LIST}?status=listed,sold_out&limit=2&utm_source=a`);
    const same = await call(`${LIST}?limit=2&status=sold_out,listed`, { DB: failingD1 });
    expect(same.headers.get('ETag')).toBe(first.headers.get('ETag'));
    for (const other of ['?limit=2', '?limit=3&status=listed,sold_out', '/no-such-home']) {
      await expectError(await call(`${LIST}${other}`, { DB: failingD1 }), 500, 'internal_error');
    }
  });

  it('to a request without a cursor is not given to a request with an empty cursor', async () => {
    const call = isolate();
    await expectStatus(await call(LIST), 200);
    await expectError(await call(`${LIST}?cursor=`), 400, 'invalid_cursor');
  });

  it('is given to no request without credentials', async () => {
    const call = isolate();
    await call(`${LIST}/${slug}`);
    const denied = await call(`${LIST}/${slug}`, {}, { 'x-api-key': 'wrong' });
    await expectError(denied, 401, 'authentication_invalid');
  });

  it('answers 304 from memory and from the edge without asking D1', async () => {
    const call = isolate();
    const etag = (await call(`${LIST}/${slug}`)).headers.get('ETag') ?? '';
    for (const again of [call, isolate()]) {
      const response = await again(`${LIST}/${slug}`, { DB: failingD1 }, { 'If-None-Match': etag });
      await expectStatus(response, 304);
      expect(await response.text()).toBe('');
    }
  });

  it('is made anew when the site address changes', async () => {
    await isolate()(`${LIST}/${slug}`);
    const moved = await isolate({ PUBLIC_SITE_URL: 'https://new.example.com/' })(`${LIST}/${slug}`);
    const { url } = property.parse(await moved.json());
    expect(url).toBe(`https://new.example.com/listings/${slug}`);
  });

  it('is never cached for a missing listing', async () => {
    const call = isolate();
    await expectError(await call(`${LIST}/${slug}-new`), 404, 'resource_missing');
    await storeListings(env.DB, [sourceOf({ slug: `${slug}-new` })]);
    await expectStatus(await call(`${LIST}/${slug}-new`), 200);
  });
});

describe('FEED_CACHE_SECONDS=0', () => {
  it('turns both levels off', async () => {
    const call = isolate({ FEED_CACHE_SECONDS: '0' });
    await call(`${LIST}/${slug}`);
    await rename();
    expect(await nameIn(await call(`${LIST}/${slug}`))).toBe('After');
    await expectError(await call(`${LIST}/${slug}`, { DB: failingD1 }), 500, 'internal_error');
  });
});

describe('when D1 fails', () => {
  it.each([61, 3_600])(
    'an answer %d seconds old is given, with its age and a log line',
    async (age) => {
      const call = isolate();
      const etag = (await call(`${LIST}/${slug}`)).headers.get('ETag');
      vi.setSystemTime(Date.now() + age * 1_000);
      const stale = await call(`${LIST}/${slug}`, { DB: failingD1 });
      await expectStatus(stale, 200);
      expect(stale.headers.get('Age')).toBe(String(age));
      expect(stale.headers.get('ETag')).toBe(etag);
      expect(JSON.stringify(faultLog.mock.calls)).toContain('an older answer was given');
    },
  );

  it('an answer of over an hour is too old', async () => {
    const call = isolate();
    await call(`${LIST}/${slug}`);
    vi.setSystemTime(Date.now() + 3_600_001);
    await expectError(await call(`${LIST}/${slug}`, { DB: failingD1 }), 500, 'internal_error');
  });

  it.each([
    ['90', 90_000, 90_001],
    ['7200', 7_200_000, 7_200_001],
  ])('FEED_STALE_SECONDS=%s bounds its age, from its D1 read', async (seconds, allowed, over) => {
    for (const [age, status] of [
      [allowed, 200],
      [over, 500],
    ] as const) {
      const call = isolate({ FEED_STALE_SECONDS: seconds });
      await call(`${LIST}/${slug}`);
      const readAt = Date.now();
      vi.setSystemTime(readAt + age);
      await expectStatus(await call(`${LIST}/${slug}`, { DB: failingD1 }), status);
      vi.setSystemTime(readAt + 10_000_000);
      await expectStatus(await call(`${LIST}/${slug}`), 200);
    }
  });

  it('FEED_STALE_SECONDS=0 gives no older answer, and caches as before', async () => {
    const call = isolate({ FEED_STALE_SECONDS: '0' });
    await call(`${LIST}/${slug}`);
    vi.setSystemTime(Date.now() + 59_999);
    await expectStatus(await call(`${LIST}/${slug}`, { DB: failingD1 }), 200);
    vi.setSystemTime(Date.now() + 1);
    await expectError(await call(`${LIST}/${slug}`, { DB: failingD1 }), 500, 'internal_error');
  });

  it('another isolate finds the older answer at the edge', async () => {
    await isolate()(`${LIST}/${slug}`);
    vi.setSystemTime(Date.now() + 1_800_000);
    const stale = await isolate()(`${LIST}/${slug}`, { DB: failingD1 });
    await expectStatus(stale, 200);
    expect(stale.headers.get('Age')).toBe('1800');
  });

  it('an isolate whose memory holds no answer gives the one of the edge cache', async () => {
    const call = isolate({ FEED_MEMORY_BYTES: '0' });
    await call(`${LIST}/${slug}`);
    vi.setSystemTime(Date.now() + 61_000);
    const stale = await call(`${LIST}/${slug}`, { DB: failingD1 });
    await expectStatus(stale, 200);
    expect(stale.headers.get('Age')).toBe('61');
    expect(stale.headers.get('Cache-Status')).toBe('edge; fwd=stale, isolate; fwd=miss');
    vi.setSystemTime(Date.now() + 3_540_000);
    await expectError(await call(`${LIST}/${slug}`, { DB: failingD1 }), 500, 'internal_error');
  });

  it('a listing that D1 no longer has does not come back', async () => {
    const call = isolate();
    await call(`${LIST}/${slug}`);
    await env.DB.prepare(`UPDATE properties SET status = 'hidden' WHERE slug = ?`).bind(slug).run();
    vi.setSystemTime(Date.now() + 61_000);
    await expectError(await call(`${LIST}/${slug}`), 404, 'resource_missing');
    await expectError(await call(`${LIST}/${slug}`, { DB: failingD1 }), 500, 'internal_error');
  });

  it('a fresh answer carries no Age', async () => {
    const response = await isolate()(`${LIST}/${slug}`);
    expect(response.headers.has('Age')).toBe(false);
  });
});

describe('fresh=true', () => {
  it('is answered by the primary past both caches, which have the answer afterwards', async () => {
    const call = isolate();
    await call(`${LIST}/${slug}`);
    await rename();
    const constraints: unknown[] = [];
    const DB = new Proxy(env.DB, {
      get: (target, name) => {
        if (name !== 'withSession') return Reflect.get(target, name);
        return (constraint: D1SessionConstraint) => {
          constraints.push(constraint);
          return target.withSession(constraint);
        };
      },
    });
    const fresh = await call(`${LIST}/${slug}?fresh=true`, { DB });
    expect(fresh.headers.get('Cache-Status')).toBe('edge; fwd=request, isolate; fwd=request');
    expect(await nameIn(fresh)).toBe('After');
    expect(constraints).toEqual(['first-primary']);
    for (const again of [call, isolate()]) {
      expect(await nameIn(await again(`${LIST}/${slug}`, { DB: failingD1 }))).toBe('After');
    }
  });

  it.each([LIST, '/api/v1/web/property-cards', '/api/v1/web/locations'])(
    'asks the database each time: %s',
    async (path) => {
      const call = isolate();
      await expectStatus(await call(`${path}?fresh=true`), 200);
      const failed = await call(`${path}?fresh=true`, { DB: failingD1 });
      await expectError(failed, 500, 'internal_error');
      await expectStatus(await call(path, { DB: failingD1 }), 200);
    },
  );

  it('removes a listing that is hidden now from both caches', async () => {
    const call = isolate();
    await call(`${LIST}/${slug}`);
    await env.DB.prepare(`UPDATE properties SET status = 'hidden' WHERE slug = ?`).bind(slug).run();
    await expectError(await call(`${LIST}/${slug}?fresh=true`), 404, 'resource_missing');
    await expectError(await isolate()(`${LIST}/${slug}`), 404, 'resource_missing');
  });

  it('takes no other value', async () => {
    const error = await expectError(await isolate()(`${LIST}?fresh=1`), 400, 'validation_error');
    expect(error.param).toBe('fresh');
  });
});
