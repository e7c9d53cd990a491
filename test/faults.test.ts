/**
 * Checks every cell of the table in docs/operate/faults.md. For each binding and each fault, the table
 * must state the status and the duration of every endpoint's response. No acknowledged event may be
 * lost, and no rejected event may prevent its retry.
 */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../src/app.ts';
import { bookingCreated, ingestInit } from './support/events.ts';
import { type Misbehaviour, MODES } from './support/faults.ts';
import { type Changes, callWith, freshAddress } from './support/http.ts';
import { interceptD1, interceptMethods, interceptObjects } from './support/interceptor.ts';
import { makeListing, storeListings } from './support/listings.ts';
import { getTable } from './support/markdown.ts';
import { createProvider } from './support/tokens.ts';

const FEED = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const LOCATIONS = '/api/v1/web/locations';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';
const BINDINGS = ['nothing', 'D1', 'KV', 'counter', 'edge cache', 'key set'] as const;
const CACHED_AGE_MS = 61_000;
const KEY_SET_AGE_MS = 601_000;
/** Pause between the two requests if every second call fails. A health check is cached for the same time. */
const PAUSE_MS = 5_000;

type Binding = (typeof BINDINGS)[number];

const { heads, rows } = getTable('docs/operate/faults.md', 'what');

const slug = 'faults-home';
const provider = await createProvider();
const identified = z.object({ id: z.string() });

beforeAll(async () => {
  await storeListings(env.DB, [makeListing({ slug })]);
});

/** Hides the log lines of expected faults, and removes the jitter of pauses. */
function quieten() {
  vi.restoreAllMocks();
  vi.spyOn(console, 'error').mockReturnValue(undefined);
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
}

/** Starts an isolate in its own data centre. One of its bindings can be made to misbehave. */
function isolate() {
  const app = createApp();
  const address = freshAddress();
  const origin = `https://${crypto.randomUUID()}.example.com`;
  const faulty: { binding: Binding; misbehaviour: Misbehaviour } = {
    binding: 'nothing',
    misbehaviour: (call) => call(),
  };
  /** Number of unfinished calls to real bindings. The fake clock must not advance during these calls. */
  let callsInProgress = 0;
  const makeInterceptor =
    (binding: Binding) =>
    <Result>(call: () => Promise<Result>): Promise<Result> => {
      const counted = async () => {
        callsInProgress += 1;
        try {
          return await call();
        } finally {
          callsInProgress -= 1;
        }
      };
      return faulty.binding === binding ? faulty.misbehaviour(counted) : counted();
    };

  const intercepted = interceptMethods(caches.default, makeInterceptor('edge cache'));
  vi.spyOn(caches, 'default', 'get').mockReturnValue(intercepted);
  // The platform's own signal does not follow the fake clock.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), milliseconds);
    return controller.signal;
  });
  vi.spyOn(globalThis, 'fetch').mockImplementation((_url, init) => {
    const aborted = new Promise<never>((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
    return Promise.race([
      makeInterceptor('key set')(async () => new Response(provider.jwks)),
      aborted,
    ]);
  });

  const bindings: Changes = {
    DB: interceptD1(env.DB, makeInterceptor('D1')),
    IDEMPOTENCY: interceptMethods(env.IDEMPOTENCY, makeInterceptor('KV')),
    RATE_COUNTER: interceptObjects(env.RATE_COUNTER, makeInterceptor('counter')),
    FEED_CACHE_SECONDS: '60',
    JWT_JWKS_URL: `${origin}/jwks`,
  };

  return {
    /** Makes a binding misbehave from now on. */
    misbehave(binding: Binding, misbehaviour: Misbehaviour) {
      Object.assign(faulty, { binding, misbehaviour });
    },
    async send(path: string, init: RequestInit = {}): Promise<Response> {
      const headers = new Headers(init.headers);
      // A client's first request always calls the counter.
      headers.set('CF-Connecting-IP', faulty.binding === 'counter' ? freshAddress() : address);
      return (await callWith(bindings, `${origin}${path}`, { ...init, headers }, app)).response;
    },
    /** Advances the fake clock, as fast as the real calls allow, until `work` is done. */
    async settle<Result>(work: Promise<Result>): Promise<Result> {
      let isDone = false;
      const done = work.finally(() => {
        isDone = true;
      });
      for (let idle = 0; !isDone; idle = callsInProgress === 0 ? idle + 1 : 0) {
        await scheduler.wait(2);
        if (idle > 2 && !isDone) await vi.advanceTimersToNextTimerAsync();
      }
      return done;
    },
  };
}

type Isolate = ReturnType<typeof isolate>;

/** A column of the table. All its requests get the same response in the same state of the isolate. */
type Column = {
  /** Prepares an isolate before the fault. The result is passed to each request. */
  prepare?: (at: Isolate) => Promise<string>;
  /** Milliseconds between the preparation and the requests; 0 if absent. */
  ageMs?: number;
  requests: readonly ((prepared: string) => [path: string, init?: RequestInit])[];
};

const bearer = async () => `Bearer ${await provider.sign()}`;
const withToken = (authorization: string) => ({
  headers: { 'x-api-key': 'wrong', Authorization: authorization },
});

const COLUMNS: Readonly<Record<string, Column>> = {
  feed: { requests: [() => [`${FEED}?status=listed,sold_out`], () => [LOCATIONS]] },
  'feed, cached': {
    prepare: async (at) => {
      for (const path of [`${FEED}?limit=3`, `${FEED}/${slug}`]) await at.send(path);
      return '';
    },
    ageMs: CACHED_AGE_MS,
    requests: [() => [`${FEED}?limit=3`], () => [`${FEED}/${slug}`]],
  },
  'by token': { prepare: bearer, requests: [(token) => [FEED, withToken(token)]] },
  'by token, keys known': {
    prepare: async (at) => {
      const token = await bearer();
      await at.send(`${FEED}/no-such-home`, withToken(token));
      return token;
    },
    ageMs: KEY_SET_AGE_MS,
    requests: [(token) => [FEED, withToken(token)]],
  },
  'new key or none': {
    requests: [
      () => [INGEST, ingestInit(bookingCreated(), crypto.randomUUID())],
      () => [INGEST, ingestInit(bookingCreated())],
    ],
  },
  repeat: {
    prepare: async (at) => {
      const key = crypto.randomUUID();
      await at.send(INGEST, ingestInit(bookingCreated(), key));
      return key;
    },
    ageMs: 1_000,
    requests: [(key) => [INGEST, ingestInit(bookingCreated(), key)]],
  },
  events: {
    prepare: async (at) => {
      const response = await at.send(INGEST, ingestInit(bookingCreated()));
      return identified.parse(await response.json()).id;
    },
    requests: [(id) => [`${EVENTS}?after_id=${id}`], (id) => [`${EVENTS}/${id}`], () => [CHANGES]],
  },
  detailed: { requests: [() => ['/api/health/detailed']] },
};

const HEALTH: Column = { requests: [() => ['/api/health']] };

/** Formats a response as a cell of the table, e.g. `200 old in 2 s`. */
async function formatCell(response: Response, seconds: number): Promise<string> {
  const text = await response.clone().text();
  expect(response.headers.has('X-RateLimit-Limit'), 'has a rate limit').toBe(true);
  return [
    response.status,
    response.headers.has('Age') ? ' old' : '',
    text.includes('"status":"degraded"') ? ' degraded' : '',
    seconds < 0.5 ? '' : ` in ${Math.round(seconds * 10) / 10} s`,
  ].join('');
}

/** Sends a request to a new isolate. Returns the table cell for the response. */
async function measure(
  column: Column,
  request: Column['requests'][number],
  binding: Binding,
  mode: string,
): Promise<string> {
  quieten();
  const at = isolate();
  const prepared = (await column.prepare?.(at)) ?? '';
  vi.useFakeTimers({
    toFake: ['Date', 'setTimeout', 'clearTimeout'],
    now: Date.now() + (column.ageMs ?? 0),
  });
  const misbehaviour = Object.entries(MODES).find(([name]) => name === mode)?.[1]();
  if (misbehaviour !== undefined) at.misbehave(binding, misbehaviour);

  const cells: string[] = [];
  for (const _ of mode === 'fails every second call' ? [1, 2] : [1]) {
    const [path, init] = request(prepared);
    const startedAt = Date.now();
    const response = await at.settle(at.send(path, init));
    cells.push(await formatCell(response, (Date.now() - startedAt) / 1_000));
    if (path === INGEST) await expectNothingLost(at, init ?? {}, response);
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
  }
  vi.useRealTimers();
  return [...new Set(cells)].join(', then ');
}

/** Expects that an acknowledged event, or the retry of a rejected event, is stored exactly once. */
async function expectNothingLost(at: Isolate, init: RequestInit, response: Response) {
  const hasKey = new Headers(init.headers).has('Idempotency-Key');
  let last = response;
  if (response.status >= 500 && hasKey) {
    const healthyIsolate = isolate();
    last = await at.settle(healthyIsolate.send(INGEST, init));
  }
  if (last.status >= 500) return;
  expect([200, 202]).toContain(last.status);
  const { id } = identified.parse(await last.json());
  const stored = await env.DB.prepare('SELECT count(*) AS n FROM events WHERE id = ?').bind(id);
  expect(await stored.first('n')).toBe(1);
}

/** Every combination of a binding and a fault. One row of the table can cover two bindings or all faults. */
const cases = rows.flatMap(([names = '', ways = '', ...cells]) =>
  names.split(' or ').flatMap((name) => {
    const modes = ways === 'in any way' ? Object.keys(MODES) : [ways];
    return modes.map((mode) => ({ binding: z.enum(BINDINGS).parse(name), mode, cells }));
  }),
);

describe('docs/operate/faults.md', () => {
  it('lists every binding and every fault', () => {
    const expected = BINDINGS.flatMap((binding) =>
      (binding === 'nothing' ? [''] : Object.keys(MODES)).map((mode) => `${binding} ${mode}`),
    );
    expect(heads.slice(2)).toEqual(Object.keys(COLUMNS));
    expect(cases.map(({ binding, mode }) => `${binding} ${mode}`).sort()).toEqual(expected.sort());
  });

  it.each(cases)(
    'states the responses while $binding $mode',
    { timeout: 60_000 },
    async ({ binding, mode, cells }) => {
      const measured: string[] = [];
      for (const column of [...Object.values(COLUMNS), HEALTH]) {
        const cellsOfColumn = new Set<string>();
        for (const request of column.requests) {
          cellsOfColumn.add(await measure(column, request, binding, mode));
        }
        measured.push([...cellsOfColumn].join(' or '));
      }
      const withHeads = (texts: string[]) =>
        [...Object.keys(COLUMNS), 'health'].map((head, at) => `${head}: ${texts[at]}`);
      expect(withHeads(measured)).toEqual(withHeads([...cells, '200']));
    },
  );
});
