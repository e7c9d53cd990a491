/** A soak: mixed traffic on the production bundle for a time, with every answer and the store checked. */

import * as z from 'zod';
import { storeListings } from '../bench/fill.ts';
import { startProduction } from '../bench/production.ts';
import {
  API_KEY,
  clientHeaders,
  createTraffic,
  LISTINGS,
  PUBLIC_SITE_URL,
  type Send,
  type Traffic,
} from './traffic.ts';

const CONCURRENCY = 32;
const MAX_PROBLEMS = 20;
/** A soak sends at least so many requests, so that every kind of answer occurs on a slow machine too. */
const LEAST_REQUESTS = 800;
/** A rate limit that no client reaches. */
const UNREACHED_LIMIT = '1000000';

/** The findings of a soak. */
export type SoakReport = {
  seconds: number;
  counts: Traffic['counts'];
  /** The number of answers by status. */
  statuses: Readonly<Record<string, number>>;
  /** Wrong and missing answers, and events that the store lacks or holds twice. */
  problems: string[];
  events: { acknowledged: number; stored: number };
  /** The number of errors in the Worker's log. */
  faults: number;
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
    { onLog },
  );
  try {
    await storeListings(runtime.database, LISTINGS, PUBLIC_SITE_URL);
    const statuses: Record<string, number> = {};
    let requests = 0;
    const send: Send = async (path, init = {}) => {
      const headers = { ...clientHeaders(), ...Object.fromEntries(new Headers(init.headers)) };
      const response = await fetch(new URL(path, runtime.url), { ...init, headers });
      requests += 1;
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const traffic = createTraffic();
    const problems = await press(traffic, send, seconds, () => requests < LEAST_REQUESTS);
    const stored = await everyStoredId(send);
    problems.push(...differences(traffic, stored));
    return {
      seconds,
      counts: traffic.counts,
      statuses,
      problems,
      events: { acknowledged: traffic.acknowledged.length, stored: stored.length },
      faults,
    };
  } finally {
    await runtime.stop();
  }
}

/** Keeps `CONCURRENCY` requests under way for that many seconds, and while `isShort`. Returns the problems. */
async function press(
  traffic: Traffic,
  send: Send,
  seconds: number,
  isShort: () => boolean,
): Promise<string[]> {
  const endsAt = Date.now() + seconds * 1_000;
  const problems: string[] = [];
  const client = async () => {
    while ((Date.now() < endsAt || isShort()) && problems.length < MAX_PROBLEMS) {
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

/** Returns the differences between the store and the acknowledged events: each is stored once, and no other event is. */
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
