/**
 * Runs the Workers of the previous release and of the working copy side by side, as during a
 * deployment. They share one database, one KV namespace and the same counters. The counters run the
 * code of either version.
 */

import { dirname, join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readWranglerConfig, resolveVars } from '../../tools/configuration/wrangler-toml.ts';
import { buildBundle } from '../../tools/workerd/runtime.ts';
import { namedKey } from '../support/keys.ts';
import { getBundle } from '../support/node/bundles.ts';
import { makeOnce } from '../support/node/memoised-fixture.ts';
import { TEST_VARS } from '../support/vars.ts';
import { Release } from './release.ts';

const API_KEY = 'the-key-of-the-test';
const FEED = '/api/v1/web/properties';
const LIMIT = 20;

type Version = 'previous' | 'current';
const VERSIONS: readonly Version[] = ['previous', 'current'];
const LOOPBACK = { host: '127.0.0.1', port: 0 };

const site = await namedKey('limited', ['feed:read']);
const vars = {
  ...Object.fromEntries(resolveVars()),
  ...TEST_VARS,
  API_KEY,
  API_KEYS: JSON.stringify([{ ...site.entry, rate_limit: LIMIT }]),
  RATE_LIMIT_DEFAULT: String(LIMIT),
  RATE_LIMIT_INGEST: '10000',
  FEED_CACHE_SECONDS: '60',
};

describe.each(VERSIONS)('two versions that share the counters of the %s version', (owner) => {
  const release = new Release();
  let miniflare: Miniflare;
  const origins: Record<Version, string> = { previous: '', current: '' };
  let nextAddress = 0;

  beforeAll(async () => {
    await release.applyCurrentMigrations();
    const { folder } = release;
    const previous = await makeOnce('bundle-previous', async (directory) => {
      await buildBundle(join(folder, 'src/index.ts'), directory);
    });
    const scripts = {
      previous: join(previous, 'index.js'),
      current: await getBundle('src/index.ts'),
    };
    const workers = VERSIONS.map((name) => ({
      name,
      compatibilityDate: readWranglerConfig().compatibility_date,
      modulesRoot: dirname(scripts[name]),
      modules: [{ type: 'ESModule' as const, path: scripts[name] }],
      bindings: vars,
      d1Databases: { DB: 'DB' },
      kvNamespaces: { IDEMPOTENCY: 'IDEMPOTENCY' },
      durableObjects: {
        RATE_COUNTER:
          name === owner
            ? { className: 'RateCounter', useSQLite: true }
            : { className: 'RateCounter', scriptName: owner },
      },
      unsafeDirectSockets: [LOOPBACK],
    }));
    miniflare = new Miniflare(
      convertV4MiniflareOptions({
        workers,
        resourcePersistencePath: release.state,
        handleStructuredLogs({ level, message }) {
          if (level === 'error') throw new Error(message);
        },
      }),
    );
    await miniflare.ready;
    for (const name of VERSIONS) {
      origins[name] = (await miniflare.unsafeGetDirectURL(name)).origin;
    }
  });
  afterAll(async () => {
    await miniflare.dispose();
    release.remove();
  });

  function send(version: Version, path: string, init: RequestInit = {}): Promise<Response> {
    nextAddress += 1;
    const address = { 'CF-Connecting-IP': `2001:db8:0:${nextAddress.toString(16)}::1` };
    const defaults = { 'x-api-key': API_KEY, 'Content-Type': 'application/json', ...address };
    return fetch(`${origins[version]}${path}`, {
      ...init,
      headers: { ...defaults, ...init.headers },
    });
  }

  function post(version: Version, key: string): Promise<Response> {
    return send(version, '/api/public/events/ingest', {
      method: 'POST',
      headers: { 'Idempotency-Key': key },
      body: JSON.stringify({
        event_type: 'booking.created',
        aggregate_type: 'booking',
        aggregate_id: 'side-by-side',
        payload: { guests: 2 },
      }),
    });
  }

  it('store an event once if both receive it concurrently', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `${owner}-${index}`);
    const statuses = await Promise.all(
      keys.map(async (key) => {
        const responses = await Promise.all(VERSIONS.map((version) => post(version, key)));
        return responses.map(({ status }) => status).toSorted();
      }),
    );
    expect(statuses).toEqual(keys.map(() => [200, 202]));
    const { data } = await readJson(
      await send('current', '/api/v1/events?aggregate_id=side-by-side'),
    );
    expect(data).toHaveLength(20);
  });

  it.each(['D1', 'only KV'])(
    'replay an event that the previous version stored in %s',
    async (store) => {
      const key = `${owner} in ${store}`;
      const first = await (await post('previous', key)).json<{ id: string }>();
      if (store !== 'D1') {
        const kv = await miniflare.getKVNamespace('IDEMPOTENCY', 'previous');
        await expect.poll(() => kv.get(first.id)).not.toBeNull();
        const database = await miniflare.getD1Database('DB', 'previous');
        await database.prepare('DELETE FROM events WHERE id = ?').bind(first.id).run();
      }
      const replay = await post('current', key);
      expect([replay.status, await replay.json()]).toEqual([
        200,
        { ...first, status: 'idempotent' },
      ]);
    },
  );

  it.each([
    ['a named key', { 'x-api-key': site.key }],
    ['an address', { 'x-api-key': 'unknown', 'CF-Connecting-IP': '203.0.113.9' }],
  ])('together admit at least the limit of %s', async (_, headers) => {
    let admitted = 0;
    for (let sent = 0; sent < 2 * LIMIT; sent += 1) {
      const responses = await Promise.all(
        VERSIONS.map((version) => send(version, FEED, { headers })),
      );
      for (const response of responses) {
        if (response.status !== 429) admitted += 1;
        expect(response.headers.get('RateLimit')).toMatch(/;r=\d+;t=\d+$/);
        expect(response.headers.get('X-RateLimit-Remaining')).toMatch(/^\d+$/);
      }
    }
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    // The second isolate can add a fifth of the limit, and one or two permits if calls cross.
    expect(admitted).toBeLessThanOrEqual(LIMIT + LIMIT / 5 + 2);
  });

  it.each([
    `${FEED}?limit=4`,
    `${FEED}?limit=5&type=beach`,
    '/api/v1/web/property-cards?limit=4',
    '/api/v1/web/locations?limit=2',
    '/api/v1/events?limit=3',
    '/api/v1/events?order=asc&limit=3',
    '/api/v1/events?order=asc&limit=1&type=booking.created&aggregate_id=side-by-side',
    '/api/v1/web/property-changes?limit=4',
  ])('accept a cursor from the other version for %s', async (path) => {
    const param = path.includes('changes') ? 'after' : 'cursor';
    for (const [from, to] of [VERSIONS, VERSIONS.toReversed()] as [Version, Version][]) {
      const { next_cursor } = await readJson(await send(from, path));
      const next = `${path}&${param}=${next_cursor}`;
      const nextPage = await readJson(await send(to, next));
      expect(nextPage.data.length).toBeGreaterThan(0);
      expect(listIds(nextPage)).toEqual(listIds(await readJson(await send(from, next))));
    }
  });
});

type List = { data: { id: string }[]; next_cursor: string };

async function readJson(response: Response): Promise<List> {
  expect(response.status).toBe(200);
  return response.json() as Promise<List>;
}

const listIds = ({ data }: List) => data.map(({ id }) => id);
