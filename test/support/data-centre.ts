/**
 * Runs isolates of the feed in one simulated data centre. An import, a restore or Time Travel can
 * change the one listing that they serve.
 */

import { env } from 'cloudflare:workers';
import { beforeEach, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { countCosts, NOTHING } from './counting.ts';
import { delayD1 } from './faults.ts';
import { callWith, expectStatus, freshAddress } from './http.ts';
import { interceptD1 } from './interceptor.ts';
import { makeListing, storeListings } from './listings.ts';
import { watchLog } from './log.ts';

export const LIST = '/api/v1/web/properties';
const START = Date.parse('2030-01-01T00:00:00Z');

/**
 * The current test's host name, listing and first isolate. The host is new, so its edge cache is
 * empty.
 */
const here = { host: '', slug: '', one: isolate() };
let faultLines: ReturnType<typeof watchLog>;
/** Returns the lines that the service has logged in the current test. */
export let logLines: ReturnType<typeof watchLog>;

/**
 * Prepares a data centre before each test of the calling file. The isolate `one` has already read
 * the listing, whose name is `Before`.
 */
export function useDataCentre(): Readonly<typeof here> {
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START });
    logLines = watchLog('log');
    faultLines = watchLog('error');
    here.host = `${crypto.randomUUID()}.example.com`;
    here.slug = `home-${crypto.randomUUID().slice(0, 8)}x`;
    await storeListings(env.DB, [makeListing({ slug: here.slug, name: 'Before' })]);
    here.one = isolate();
    await here.one.read();
  });
  return here;
}

export const listingPath = () => `${LIST}/${here.slug}`;
export const freshPath = () => `${listingPath()}?fresh=true`;

export function setSecond(seconds: number) {
  vi.setSystemTime(START + seconds * 1_000);
}

/** Stops the clock and all timers at the given time after the start. */
export function stopAtSecond(seconds: number) {
  const toFake = ['Date', 'setTimeout', 'clearTimeout'] as const;
  vi.useFakeTimers({ toFake: [...toFake], now: START + seconds * 1_000 });
}

/**
 * Renames the listing and changes the catalogue version like an import, a restore or Time Travel.
 */
export async function turnInto(name: string, added: number, generation = '') {
  const sql = `UPDATE database_identity SET catalogue_number = catalogue_number + ?,
    catalogue_import = ?, generation = coalesce(nullif(?, ''), generation)`;
  const rename = `UPDATE properties SET document = json_set(document, '$.name', ?) WHERE slug = ?`;
  await env.DB.batch([
    env.DB.prepare(sql).bind(added, crypto.randomUUID(), generation),
    env.DB.prepare(rename).bind(name, here.slug),
  ]);
}

/** Renames the listing like an import. */
export const rename = (name: string) => turnInto(name, 1);

type Sent = { path?: string; headers?: Record<string, string> };

/** Makes an isolate that counts its round trips to D1 and the rows that they read. */
export function isolate(settings: Partial<Env> = {}) {
  const app = createApp();
  const costs = { ...NOTHING };
  /** Sends a request. Does not wait for the work that continues after the response. */
  function send(changes: Partial<Env> = {}, { path = listingPath(), headers }: Sent = {}) {
    const { DB } = countCosts({ ...env, ...changes }, costs).env;
    const bindings = { FEED_CACHE_SECONDS: '60', ...settings, ...changes, DB };
    const init = { headers: { 'CF-Connecting-IP': freshAddress(), ...headers } };
    return callWith(bindings, `https://${here.host}${path}`, init, app);
  }
  /** Sends a request, and waits until all work has ended. */
  async function get(changes: Partial<Env> = {}, sent: Sent = {}): Promise<Response> {
    const { response, settled } = await send(changes, sent);
    await settled;
    return response;
  }
  /** Reads the listing. Returns its name and the response's `Cache-Status` and `Age`. */
  async function read(changes: Partial<Env> = {}): Promise<string> {
    return describeResponse(await get(changes));
  }
  return { costs, send, get, read };
}

export async function describeResponse(response: Response): Promise<string> {
  await expectStatus(response, 200);
  const { name } = await response.json<{ name: string }>();
  const age = response.headers.get('Age');
  return `${name}: ${response.headers.get('Cache-Status')}${age === null ? '' : `, Age ${age}`}`;
}

/**
 * Returns a database that responds once `open` has been called. `called` resolves at the database's
 * first call.
 */
export function stalling() {
  const opened = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const DB = interceptD1(delayD1(env.DB, opened.promise), (call) => {
    called.resolve();
    return call();
  });
  return { DB, open: opened.resolve, called: called.promise };
}

/** Returns what the primary currently returns when the isolate reads the listing. */
export async function readPrimary(): Promise<D1Result[]> {
  const recorded: D1Result[][] = [];
  const recording = interceptD1(env.DB, async (call) => {
    const results = await call();
    recorded.push(results);
    return results;
  });
  await isolate({ FEED_CACHE_SECONDS: '0' }).get({ DB: recording }, { path: freshPath() });
  return recorded[0] ?? [];
}

/**
 * Returns a database with a lagging replica. The replica returns the results of `getState`, or the
 * current results if `getState` returns undefined.
 */
export async function laggingReplica(getState?: () => D1Result[]): Promise<D1Database> {
  const now = await readPrimary();
  return interceptD1(env.DB, async (call, constraint) =>
    constraint === 'first-primary' ? call() : (getState?.() ?? now),
  );
}

/**
 * Returns the logged D1 failures. Ignores other errors, because moving the clock can also interrupt
 * a call to the edge cache.
 */
export const faultsOfD1 = () =>
  faultLines().filter(({ message }) => message.includes('D1 failed or stalled'));
