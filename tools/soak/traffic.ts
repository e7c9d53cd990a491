/** The requests of a soak, each with the answer that it must get. */

import { v5 } from 'uuid';
import * as z from 'zod';
import { render } from '../../src/properties/render.ts';
import { listingAt } from '../bench/listings.ts';

export const API_KEY = 'soak-key';
export const PUBLIC_SITE_URL = 'https://www.example.com';
export const LISTINGS = 300;
/** The number of client addresses, which the requests use in turn. */
const CLIENTS = 100;

const FEED = '/api/v1/web/properties';
const INGEST = '/api/public/events/ingest';
/** The documented namespace: the sender of a keyed event can compute the event's id. */
const KEY_NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const MAX_PAGE_SIZE = 100;

const page = z.object({
  object: z.literal('list'),
  data: z.array(z.object({ id: z.string() })),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
});
const event = z.strictObject({
  object: z.literal('event'),
  id: z.string(),
  type: z.literal('booking.created'),
  status: z.enum(['pending', 'idempotent']),
  created_at: z.iso.datetime(),
});

type Answer = { status: number; headers: Headers; text: string };
export type Send = (path: string, init?: RequestInit) => Promise<Answer>;

/** An event that the service has acknowledged. */
type Acknowledged = { id: string; key: string | undefined; body: string };

export type Traffic = {
  /** Sends a random request of the mix. Throws when the answer is wrong. */
  next(send: Send): Promise<void>;
  acknowledged: readonly Acknowledged[];
  /** The number of right answers by kind of request. */
  counts: Readonly<Record<'feed' | 'ingest' | 'replay', number>>;
};

/** Returns traffic of 80 % reads of the feed, 15 % new events and 5 % repeats of accepted ones. */
export function createTraffic(): Traffic {
  const acknowledged: Acknowledged[] = [];
  const counts = { feed: 0, ingest: 0, replay: 0 };
  return {
    acknowledged,
    counts,
    async next(send) {
      const chance = Math.random();
      const known = acknowledged[Math.floor(Math.random() * acknowledged.length)];
      if (chance < 0.15 || (chance < 0.2 && known?.key === undefined)) {
        acknowledged.push(await ingest(send));
        counts.ingest += 1;
      } else if (chance < 0.2 && known !== undefined) {
        await repeat(send, known);
        counts.replay += 1;
      } else {
        await readFeed(send);
        counts.feed += 1;
      }
    },
  };
}

let requests = 0;

/** Returns the headers of a request: the API key, and the next client's address. */
export function clientHeaders(): Record<string, string> {
  const client = requests++ % CLIENTS;
  return { 'x-api-key': API_KEY, 'CF-Connecting-IP': `10.0.0.${client}` };
}

const resources = Array.from({ length: LISTINGS }, (_, index) =>
  render(listingAt(index), PUBLIC_SITE_URL),
).filter((resource) => resource !== null);
const documents = new Map(resources.map((each) => [each.slug, JSON.stringify(each)]));
const listedIds = resources.filter(({ status }) => status === 'listed').map(({ id }) => id);

async function readFeed(send: Send): Promise<void> {
  const chance = Math.random();
  if (chance < 0.5) return readItem(send);
  if (chance < 0.95) return readPages(send);
  const { status } = await send(`${FEED}/no-such-home-${Math.floor(Math.random() * 100)}`);
  expectThat(status === 404, `404 for an unknown listing, got ${status}`);
}

async function readItem(send: Send): Promise<void> {
  const slug = `home-${Math.floor(Math.random() * LISTINGS)}`;
  const { status, text, headers } = await send(`${FEED}/${slug}`);
  expectThat(
    status === 200 && text === documents.get(slug),
    `${slug} whole, got ${status} ${text}`,
  );
  const etag = headers.get('ETag') ?? '';
  if (Math.random() > 0.2) return;
  const again = await send(`${FEED}/${slug}`, { headers: { 'If-None-Match': etag } });
  expectThat(again.status === 304, `304 for an ETag just given, got ${again.status}`);
}

/** Reads two consecutive pages. */
async function readPages(send: Send): Promise<void> {
  const limit = 1 + Math.floor(Math.random() * MAX_PAGE_SIZE);
  let cursor = '';
  for (let start = 0; start < 2 * limit && start < listedIds.length; start += limit) {
    const { status, text } = await send(`${FEED}?limit=${limit}${cursor}`);
    expectThat(status === 200, `200 for a page, got ${status} ${text}`);
    const { data, has_more, next_cursor } = page.parse(JSON.parse(text));
    const expected = listedIds.slice(start, start + limit);
    expectThat(
      data.map(({ id }) => id).join() === expected.join(),
      `listings from ${start} in order`,
    );
    expectThat(
      has_more === start + limit < listedIds.length,
      'has_more to say whether more follows',
    );
    cursor = `&cursor=${next_cursor}`;
  }
}

/** Sends a new event, one in five without a key. */
async function ingest(send: Send): Promise<Acknowledged> {
  const key = Math.random() < 0.2 ? undefined : crypto.randomUUID();
  const body = JSON.stringify({
    event_type: 'booking.created',
    aggregate_id: `soak-${crypto.randomUUID()}`,
    aggregate_type: 'booking',
    payload: { guests: 1 + Math.floor(Math.random() * 8), currency: 'EUR' },
  });
  const { status, text } = await send(INGEST, initOf(body, key));
  expectThat(status === 202, `202 for a new event, got ${status} ${text}`);
  const accepted = event.parse(JSON.parse(text));
  expectThat(accepted.status === 'pending', 'pending for a new event');
  expectThat(key === undefined || accepted.id === v5(key, KEY_NAMESPACE), 'the id of its key');
  return { id: accepted.id, key, body };
}

/** Sends an event again, or one time in four another body under its key. */
async function repeat(send: Send, { id, key, body }: Acknowledged): Promise<void> {
  const isChanged = Math.random() < 0.25;
  const sent = isChanged ? body.replace('"booking"', '"reservation"') : body;
  const { status, text } = await send(INGEST, initOf(sent, key));
  if (isChanged) {
    expectThat(status === 409, `409 for another body, got ${status} ${text}`);
    return;
  }
  expectThat(status === 200, `200 for a repeat, got ${status} ${text}`);
  const replayed = event.parse(JSON.parse(text));
  expectThat(replayed.id === id && replayed.status === 'idempotent', 'the first id, idempotent');
}

function initOf(body: string, key: string | undefined): RequestInit {
  const headers = {
    'Content-Type': 'application/json',
    ...(key === undefined ? {} : { 'Idempotency-Key': key }),
  };
  return { method: 'POST', headers, body };
}

function expectThat(holds: boolean, expected: string): void {
  if (!holds) throw new Error(`expected ${expected}`.slice(0, 500));
}
