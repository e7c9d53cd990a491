/**
 * A model check: an operator who imports and erases, senders, readers and followers work at the
 * same time, on three services in front of one database. Afterwards every copy is compared with a
 * model of what was acknowledged. `FULL=1` makes longer runs of more seeds, also on one service.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v5 } from 'uuid';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { command as eraseEvents } from '../tools/erase-events.ts';
import { importListings, setStatus } from '../tools/import/command.ts';
import { Random } from './simulation/random.ts';
import { runImportOn, runOn } from './support/node/in-process.ts';
import { startProductionService } from './support/node/production-service.ts';
import type { Finished } from './support/node/project-copy.ts';

const isFull = process.env.FULL === '1';
const SEEDS = isFull ? ['1', '2', '3', '4', '5'] : ['1'];
const SERVICES = isFull ? [1, 3] : [3];
const STEPS = isFull ? 100 : 8;
const SENDERS = ['sender-1', 'sender-2', 'sender-3'];
const API_KEY = 'model-check-key';
const MANY = '1000000';
const VARS = {
  API_KEY,
  RATE_LIMIT_DEFAULT: MANY,
  RATE_LIMIT_INGEST: MANY,
  FEED_CACHE_SECONDS: '1',
};
/** An import is visible after a second. */
const VISIBLE = { timeout: 10_000 };
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const [FEED, CHANGES] = ['/api/v1/web/properties', '/api/v1/web/property-changes'];
const INGEST = '/api/public/events/ingest';
const EVENTS = '/api/v1/events?order=asc&limit=7';
/** A slug has many owners in a run, and listings swap theirs. */
const SLUGS = ['bay', 'cliff', 'dune', 'gorge', 'hill', 'lake'];
const IDS = SLUGS.slice(0, 5).map((slug) => v5(slug, NAMESPACE));
const STATUSES = ['listed', 'listed', 'sold_out', 'coming_soon', 'hidden'];
const GUESTS = ['anna', 'bert', 'carl'];

const text = z.string();
const listing = z.object({ id: text, slug: text, name: text, status: text });
type Listing = z.infer<typeof listing>;
const change = z.object({ id: text, property: listing.nullable() });
const event = z.object({ id: text, payload: z.object({ guests: z.int().optional() }) });
const page = z.object({ data: z.array(z.unknown()), resume_cursor: text.default('') });

/** Sends a request. A body is posted, with a key if it is a single event. */
async function call(url: string, body?: object, key?: string) {
  const headers = new Headers({ 'x-api-key': API_KEY, 'Content-Type': 'application/json' });
  if (key !== undefined) headers.set('Idempotency-Key', key);
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url, { headers, ...init });
  const received = await response.text();
  expect([200, 202, 404, 409], received).toContain(response.status);
  return { status: response.status, body: JSON.parse(received) as unknown };
}

/** Follows a list until a page is empty that was asked for when `isOver`. Returns all items. */
async function follow<T>(url: string, item: z.ZodType<T>, isOver = () => true): Promise<T[]> {
  const items: T[] = [];
  for (let after = ''; ; ) {
    const isLast = isOver();
    const { data, resume_cursor } = page.parse((await call(`${url}${after}`)).body);
    items.push(...z.array(item).parse(data));
    const parameter = url.includes(CHANGES) ? 'after' : 'cursor';
    after = `&wait=1&${parameter}=${resume_cursor}`;
    if (isLast && data.length === 0) return items;
  }
}

/** What was acknowledged, and the work that is acknowledged. */
class Model {
  readonly listings = new Map<string, Listing>();
  /** The events by their ids. */
  readonly events = new Map<string, { guest: string; guests: number; isErased: boolean }>();
  readonly #random: Random;

  constructor(seed: string) {
    this.#random = new Random(seed);
  }

  get shown(): Listing[] {
    return sorted([...this.listings.values()].filter(({ status }) => status !== 'hidden'));
  }

  /** Imports listings, sets a status, or erases a guest, again and again. */
  async operate(database: D1Database, folder: string): Promise<void> {
    const random = this.#random.fork('operator');
    const expectDone = (finished: Finished) =>
      expect(finished, finished.stderr).toMatchObject({ code: 0 });
    for (let step = 0; step < STEPS; step += 1) {
      const kind = step === 0 ? 'import' : random.pick(['import', 'import', 'status', 'erasure']);
      if (kind === 'import') {
        const changed = this.#chooseListings(random);
        const properties = changed.map((each) => ({ ...each, display_order: 0 }));
        const file = join(folder, 'listings.json');
        writeFileSync(file, JSON.stringify({ properties }));
        const words = random.chance(0.3) ? [file, '--patch'] : [file];
        expectDone(await runImportOn(database, importListings, ...words));
        for (const each of changed) this.listings.set(each.id, each);
      } else if (kind === 'status') {
        const one = random.pick([...this.listings.values()]);
        const status = random.pick(STATUSES);
        expectDone(await runImportOn(database, setStatus, status, one.slug));
        this.listings.set(one.id, { ...one, status });
      } else {
        const guest = random.pick(GUESTS);
        const before = [...this.events.values()].filter((each) => each.guest === guest);
        const words = ['--aggregate-type', 'booking', '--aggregate-id', guest, '--ledger'];
        expectDone(await runOn(database, eraseEvents, ...words, join(folder, 'erasures.jsonl')));
        for (const each of before) each.isErased = true;
      }
    }
  }

  /** Returns new and changed listings. Afterwards no two listings have the same slug. */
  #chooseListings(random: Random): Listing[] {
    const ids = new Set(Array.from({ length: random.between(1, 4) }, () => random.pick(IDS)));
    const kept = [...this.listings.values()].filter(({ id }) => !ids.has(id));
    const free = SLUGS.filter((slug) => kept.every((each) => each.slug !== slug));
    return [...ids].map((id) => ({
      id,
      slug: free.splice(random.between(0, free.length - 1), 1)[0] ?? '',
      name: `Listing ${random.between(1, 1_000_000)}`,
      status: random.pick(STATUSES),
    }));
  }

  /** Sends events to two services at once, with another body, and in batches. Reads listings. */
  async send(name: string, origins: readonly string[]): Promise<void> {
    const random = this.#random.fork(name);
    for (let step = 0; step < STEPS; step += 1) {
      const [one, two] = [random.pick(origins), random.pick(origins)];
      const items = Array.from({ length: random.between(1, 3) }, (_, index) => ({
        idempotency_key: `${name}-${step}-${index}`,
        event_type: 'booking.created',
        aggregate_type: 'booking',
        aggregate_id: random.pick(GUESTS),
        payload: { guests: random.between(1, 9) },
      }));
      const batches = random.pick([[one], [one, two], []]);
      await Promise.all(batches.map((to) => call(`${to}${INGEST}/batch`, { events: items })));
      for (const { idempotency_key: key, ...body } of items) {
        const both = await Promise.all([one, two].map((to) => call(`${to}${INGEST}`, body, key)));
        const statuses = both.map(({ status }) => status).toSorted();
        expect(statuses).toEqual(batches.length > 0 ? [200, 200] : [200, 202]);
        const other = { ...body, payload: { guests: 99 } };
        expect((await call(`${two}${INGEST}`, other, key)).status).toBe(409);
        const { aggregate_id: guest, payload } = body;
        this.events.set(v5(key, NAMESPACE), { guest, guests: payload.guests, isErased: false });
        const slug = random.pick(SLUGS);
        const found = listing.safeParse((await call(`${one}${FEED}/${slug}`)).body);
        if (found.success) expect(found.data.slug).toBe(slug);
      }
    }
  }

  /** Compares all that a service shows in the end. */
  async compare(origin: string, stream: readonly { id: string }[]): Promise<void> {
    const list = `${origin}${FEED}?status=listed,sold_out,coming_soon`;
    const readList = async (url: string) =>
      sorted(z.array(listing).parse(page.parse((await call(url)).body).data));
    expect(await readList(`${list}&fresh=true`)).toEqual(this.shown);
    await expect.poll(() => readList(list), VISIBLE).toEqual(this.shown);
    for (const slug of SLUGS) {
      const owner = this.shown.find((each) => each.slug === slug);
      const read = async () => listing.safeParse((await call(`${origin}${FEED}/${slug}`)).body);
      await expect.poll(async () => (await read()).data, VISIBLE).toEqual(owner);
    }
    const stored = await follow(`${origin}${EVENTS}`, event);
    expect(stored.map(({ id }) => id)).toEqual(stream.map(({ id }) => id));
    expect(stored.map(({ id }) => id).toSorted()).toEqual([...this.events.keys()].sort());
    for (const { id, payload } of stored) {
      const { guests, isErased } = this.events.get(id) ?? {};
      // An erasure may have reached an event before its acknowledgement was noted here.
      expect(isErased ? [undefined] : [guests, undefined]).toContain(payload.guests);
    }
  }
}

function sorted(all: readonly Listing[]): Listing[] {
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

it.each(SEEDS.flatMap((seed) => SERVICES.map((services) => ({ seed, services }))))(
  'every copy is what was acknowledged: seed $seed, services: $services',
  { timeout: 600_000 },
  async ({ seed, services }) => {
    const folder = mkdtempSync(join(tmpdir(), 'model-'));
    const { urls, database, stop } = await startProductionService(VARS, { services });
    const origins = urls.map(({ origin }) => origin);
    const model = new Model(seed);
    let isOver = false;
    const followers = origins.map((origin) =>
      Promise.all([
        follow(`${origin}${CHANGES}?limit=2`, change, () => isOver),
        follow(`${origin}${EVENTS}`, event, () => isOver),
      ]),
    );
    const work = SENDERS.map((name) => model.send(name, origins));
    await Promise.all([model.operate(database, folder), ...work]);
    isOver = true;
    for (const [index, [changes, stream]] of (await Promise.all(followers)).entries()) {
      const copy = new Map(changes.map(({ id, property }) => [id, property]));
      expect(sorted([...copy.values()].filter((each) => each !== null))).toEqual(model.shown);
      await model.compare(origins[index] ?? '', stream);
    }
    await stop();
    rmSync(folder, { recursive: true });
  },
);
