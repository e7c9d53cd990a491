/** A soak: mixed traffic on the production bundle for a time, every answer checked, and what is left at its end. */

import * as z from 'zod';
import { storeListings } from '../bench/fill.ts';
import type { Runtime } from '../bench/runtime.ts';
import { startProduction } from '../production.ts';
import { liveMegabytes } from './memory.ts';
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

export type SoakReport = {
  seconds: number;
  counts: Traffic['counts'];
  /** Answers by status. */
  statuses: Readonly<Record<string, number>>;
  /** What was answered wrongly, or not at all, and what the store lacks or holds twice. */
  problems: string[];
  events: { acknowledged: number; stored: number };
  /** Lines of level error in the Worker's log. */
  faults: number;
  /** Megabytes that the isolate holds, garbage apart: when half the time was over, and at the end. */
  memory: { middle: number; end: number };
};

const eventPage = z.object({
  data: z.array(z.object({ id: z.string() })),
  next_cursor: z.string().nullable(),
});

export async function soak(seconds: number): Promise<SoakReport> {
  let faults = 0;
  const onLog = ({ level }: { level: string }) => {
    if (level === 'error') faults += 1;
  };
  const runtime = await startProduction(
    { API_KEY, PUBLIC_SITE_URL },
    { onLog, hasInspector: true },
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
    const problems = await press(traffic, send, seconds / 2);
    const middle = await memoryOf(runtime, send);
    problems.push(...(await press(traffic, send, seconds / 2)));
    const end = await memoryOf(runtime, send);
    const stored = await everyStoredId(send);
    problems.push(...differences(traffic, stored));
    return {
      seconds,
      counts: traffic.counts,
      statuses,
      problems,
      events: { acknowledged: traffic.acknowledged.length, stored: stored.length },
      faults,
      memory: { middle, end },
    };
  } finally {
    await runtime.stop();
  }
}

/** Keeps `CONCURRENCY` requests under way until the time is over; gives what went wrong. */
async function press(traffic: Traffic, send: Send, seconds: number): Promise<string[]> {
  const problems: string[] = [];
  const endsAt = Date.now() + seconds * 1_000;
  const client = async () => {
    while (Date.now() < endsAt && problems.length < MAX_PROBLEMS) {
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

function memoryOf({ inspectorUrl }: Runtime, send: Send): Promise<number> {
  if (inspectorUrl === undefined) throw new Error('the runtime was started without an inspector');
  return liveMegabytes(inspectorUrl, () => send('/api/v1/web/properties?limit=1'));
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

/** Every acknowledged event is stored, none twice, and no other. */
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
