/** Isolates of the feed in one data centre, whose one listing an import or a rewind changes. */

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

/** The current test's own data centre, whose edge cache is empty, and its own listing. */
const here = { host: '', slug: '', one: isolate() };
let faultLines: ReturnType<typeof watchLog>;
/** Returns the log lines of the requests of the current test. */
export let logLines: ReturnType<typeof watchLog>;

/** Prepares each test of a file. The isolate `one` has read the listing, whose name is `Before`. */
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

/** Stops the clock and the timers at a time after the start. */
export function stopAtSecond(seconds: number) {
  const toFake = ['Date', 'setTimeout', 'clearTimeout'] as const;
  vi.useFakeTimers({ toFake: [...toFake], now: START + seconds * 1_000 });
}

/** Renames the listing, and changes the version as an import or a rewind does. */
export async function turnInto(name: string, added: number, generation = '') {
  const sql = `UPDATE database_identity SET catalogue_number = catalogue_number + ?,
    catalogue_import = ?, generation = coalesce(nullif(?, ''), generation)`;
  const rename = `UPDATE properties SET document = json_set(document, '$.name', ?) WHERE slug = ?`;
  await env.DB.batch([
    env.DB.prepare(sql).bind(added, crypto.randomUUID(), generation),
    env.DB.prepare(rename).bind(name, here.slug),
  ]);
}

/** Renames the listing, and changes the version as an import does. */
export const rename = (name: string) => turnInto(name, 1);

type Sent = { path?: string; headers?: Record<string, string> };

/** Makes an isolate that counts its round trips to D1, and the rows that they read. */
export function isolate(settings: Partial<Env> = {}) {
  const app = createApp();
  const costs = { ...NOTHING };
  /** Does not wait for the work after the response. */
  function send(changes: Partial<Env> = {}, { path = listingPath(), headers }: Sent = {}) {
    const { DB } = countCosts({ ...env, ...changes }, costs).env;
    const bindings = { FEED_CACHE_SECONDS: '60', ...settings, ...changes, DB };
    const init = { headers: { 'CF-Connecting-IP': freshAddress(), ...headers } };
    return callWith(bindings, `https://${here.host}${path}`, init, app);
  }
  /** Waits for all work. */
  async function get(changes: Partial<Env> = {}, sent: Sent = {}): Promise<Response> {
    const { response, settled } = await send(changes, sent);
    await settled;
    return response;
  }
  /** Returns the name in the response, and the caches that it came from. */
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

/** Returns a database that responds after `open`. `called` resolves at its first call. */
export function stalling() {
  const opened = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const DB = interceptD1(delayD1(env.DB, opened.promise), (call) => {
    called.resolve();
    return call();
  });
  return { DB, open: opened.resolve, called: called.promise };
}

/** Returns the current results of the primary for a read of the listing. */
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

/** Returns a database whose replica returns `getState()`, or the current results if it is undefined. */
export async function laggingReplica(getState?: () => D1Result[]): Promise<D1Database> {
  const now = await readPrimary();
  return interceptD1(env.DB, async (call, constraint) =>
    constraint === 'first-primary' ? call() : (getState?.() ?? now),
  );
}

/**
 * The lines about D1. The moved clock may also end a real call of the edge cache, which has another
 * line.
 */
export const faultsOfD1 = () =>
  faultLines().filter(({ message }) => message.includes('D1 failed or stalled'));
