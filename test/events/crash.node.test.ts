/**
 * Kills the service while writers are at work, over real HTTP: each acknowledged event is stored,
 * once.
 *
 * `FULL=1` kills it more often.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { v5 } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  API_KEY,
  createKillableService,
  type KillableService,
} from '../support/node/killable-service.ts';

const KILLS = process.env.FULL === '1' ? 20 : 3;
const WRITERS = 16;
/** The service is killed after a random time up to this. */
const MAX_LIFE_MS = 1_500;
const RETRY_PAUSE_MS = 50;
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const MANY = '1000000';

let service: KillableService;

beforeAll(async () => {
  service = await createKillableService({ RATE_LIMIT_INGEST: MANY, RATE_LIMIT_DEFAULT: MANY });
  await service.start();
});

afterAll(async () => {
  await service.remove();
});

type Acknowledged = { key: string; ids: Set<string>; statuses: number[]; lostResponses: number };

const TITLE =
  'loses no acknowledged event, returns one id to every retry, and stores nothing twice';

it(TITLE, { timeout: KILLS * 30_000 }, async () => {
  let isWriting = true;
  const writers = Array.from({ length: WRITERS }, async () => {
    const acknowledged: Acknowledged[] = [];
    while (isWriting) acknowledged.push(await postTwice(randomUUID()));
    return acknowledged;
  });

  for (let kills = 0; kills < KILLS; kills += 1) {
    await pause(Math.random() * MAX_LIFE_MS);
    await service.kill();
    await service.start();
  }
  await pause(MAX_LIFE_MS / 2);
  isWriting = false;
  const all = (await Promise.all(writers)).flat();

  for (const event of all) {
    expect([...event.ids]).toEqual([v5(event.key, NAMESPACE)]);
    expect(event.statuses.filter((status) => status === 202).length).toBeLessThanOrEqual(1);
  }
  const stored = await everyStoredEvent();
  expect(new Set(stored.map(({ id }) => id)).size).toBe(stored.length);
  expect(stored.map(({ aggregate_id }) => aggregate_id).toSorted()).toEqual(
    all.map(({ key }) => key).toSorted(),
  );

  const lost = all.reduce((sum, { lostResponses }) => sum + lostResponses, 0);
  const committedUnseen = all.filter(({ statuses }) => !statuses.includes(202)).length;
  console.log(
    `${KILLS} kills, ${all.length} events, ${lost} requests without a response, ${committedUnseen} of them committed before the kill`,
  );
  expect(lost).toBeGreaterThan(0);
});

/** Sends an event until it gets a response, then once more, as a retry of an acknowledged event. */
async function postTwice(key: string): Promise<Acknowledged> {
  const event: Acknowledged = { key, ids: new Set(), statuses: [], lostResponses: 0 };
  while (event.statuses.length < 2) {
    const response = await post(key);
    if (response === undefined) {
      event.lostResponses += 1;
      await pause(RETRY_PAUSE_MS);
      continue;
    }
    event.statuses.push(response.status);
    event.ids.add(response.id);
  }
  return event;
}

/** Sends an event. Undefined when there was no response or a 5xx: both are to be retried. */
async function post(key: string): Promise<{ status: number; id: string } | undefined> {
  try {
    const response = await fetch(`${service.origin}/api/public/events/ingest`, {
      method: 'POST',
      headers: {
        'x-api-key': API_KEY,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
      body: JSON.stringify({
        event_type: 'booking.created',
        aggregate_id: key,
        aggregate_type: 'booking',
        payload: { guests: 2 },
      }),
    });
    const text = await response.text();
    if (response.status >= 500) return undefined;
    expect([200, 202], text).toContain(response.status);
    return { status: response.status, id: JSON.parse(text).id };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function everyStoredEvent(): Promise<{ id: string; aggregate_id: string }[]> {
  const stored: { id: string; aggregate_id: string }[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const response: Response = await fetch(
      `${service.origin}/api/v1/events?order=asc&limit=100${cursor && `&cursor=${cursor}`}`,
      { headers: { 'x-api-key': API_KEY } },
    );
    expect(response.status).toBe(200);
    const page = JSON.parse(await response.text());
    stored.push(...page.data);
    cursor = page.next_cursor;
  }
  return stored;
}
