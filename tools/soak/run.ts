/** A soak: mixed traffic on the production bundle for a time, with every answer, the store and the memory checked. */

import * as z from 'zod';
import { storeListings } from '../bench/fill.ts';
import { startProduction } from '../bench/production.ts';
import type { Runtime } from '../bench/runtime.ts';
import {
  EAGER_COLLECTION,
  findGrowth,
  liveMegabytes,
  type Memory,
  residentMegabytes,
} from './memory.ts';
import {
  API_KEY,
  CLIENTS,
  clientHeaders,
  createTraffic,
  LISTINGS,
  PUBLIC_SITE_URL,
  type Send,
  type Traffic,
} from './traffic.ts';

const CONCURRENCY = 32;
const MAX_PROBLEMS = 20;
/** A rate limit that no client reaches. */
const UNREACHED_LIMIT = '1000000';
/** Requests until every counter has opened its storage, and every store has been used. */
const WARM_UP_REQUESTS = 6 * CLIENTS;

/** The findings of a soak. */
export type SoakReport = {
  seconds: number;
  counts: Traffic['counts'];
  /** The number of answers by status. */
  statuses: Readonly<Record<string, number>>;
  /** Wrong and missing answers, events that the store lacks or holds twice, and growth of memory. */
  problems: string[];
  events: { acknowledged: number; stored: number };
  /** The number of errors in the Worker's log. */
  faults: number;
  /** Memory at half time and at the end; `requests` were answered in between. */
  memory: { middle: Memory; end: Memory; requests: number };
};

const eventPage = z.object({
  data: z.array(z.object({ id: z.string() })),
  next_cursor: z.string().nullable(),
});

/** Soaks for that many seconds. `start` starts the bundle, like `startProduction`. */
export async function soak(seconds: number, start = startProduction): Promise<SoakReport> {
  let faults = 0;
  const onLog = ({ level }: { level: string }) => {
    if (level === 'error') faults += 1;
  };
  const runtime = await start(
    {
      API_KEY,
      PUBLIC_SITE_URL,
      RATE_LIMIT_DEFAULT: UNREACHED_LIMIT,
      RATE_LIMIT_INGEST: UNREACHED_LIMIT,
    },
    { onLog, hasInspector: true, v8Flags: EAGER_COLLECTION },
  );
  try {
    await storeListings(runtime.database, LISTINGS, PUBLIC_SITE_URL);
    const statuses: Record<string, number> = {};
    const send: Send = async (path, init = {}) => {
      const headers = { ...clientHeaders(), ...Object.fromEntries(new Headers(init.headers)) };
      const response = await fetch(new URL(path, runtime.url), { ...init, headers });
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const traffic = createTraffic();
    const problems = await press(traffic, send, () => sum(statuses) < WARM_UP_REQUESTS);
    problems.push(...(await press(traffic, send, lasting(seconds / 2))));
    const middle = await memoryOf(runtime, send);
    const atMiddle = sum(statuses);
    problems.push(...(await press(traffic, send, lasting(seconds / 2))));
    const requests = sum(statuses) - atMiddle;
    const end = await memoryOf(runtime, send);
    const stored = await everyStoredId(send);
    problems.push(...differences(traffic, stored), ...findGrowth(middle, end, requests));
    return {
      seconds,
      counts: traffic.counts,
      statuses,
      problems,
      events: { acknowledged: traffic.acknowledged.length, stored: stored.length },
      faults,
      memory: { middle, end, requests },
    };
  } finally {
    await runtime.stop();
  }
}

/** Keeps `CONCURRENCY` requests under way while `goesOn`. Returns what went wrong. */
async function press(traffic: Traffic, send: Send, goesOn: () => boolean): Promise<string[]> {
  const problems: string[] = [];
  const client = async () => {
    while (goesOn() && problems.length < MAX_PROBLEMS) {
      try {
        await traffic.next(send);
      } catch (error) {
        problems.push(String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  return problems;
}

async function memoryOf({ inspectorUrl }: Runtime, send: Send): Promise<Memory> {
  if (inspectorUrl === undefined) throw new Error('the runtime was started without an inspector');
  const live = await liveMegabytes(inspectorUrl, () => send('/api/v1/web/properties?limit=1'));
  return { live, resident: residentMegabytes() };
}

/** Returns a function that is true for that many seconds from now. */
function lasting(seconds: number): () => boolean {
  const endsAt = Date.now() + seconds * 1_000;
  return () => Date.now() < endsAt;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

async function everyStoredId(send: Send): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const { text } = await send(
      `/api/v1/events?order=asc&limit=100${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    const page: z.infer<typeof eventPage> = eventPage.parse(JSON.parse(text));
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return ids;
}

/** Returns where the store differs from the acknowledged events: each stored, none twice, and no other. */
function differences({ acknowledged }: Traffic, stored: readonly string[]): string[] {
  const kept = new Set(stored);
  const known = new Set(acknowledged.map(({ id }) => id));
  return [
    ...[...known]
      .filter((id) => !kept.has(id))
      .map((id) => `${id} was acknowledged and is not stored`),
    ...[...kept]
      .filter((id) => !known.has(id))
      .map((id) => `${id} is stored and was not acknowledged`),
    ...(kept.size === stored.length ? [] : ['an event is stored twice']),
    ...(known.size === acknowledged.length ? [] : ['two events have one id']),
  ].slice(0, MAX_PROBLEMS);
}
