/** Following the stream of events: `resume_cursor`, `id` and `wait`. */

import { describe, expect, it } from 'vitest';
import {
  type Body,
  bookingCreated,
  expectEvent,
  ingest,
  ingestInit,
  listEvents,
} from '../support/events.ts';
import { expectError, expectStatus, get, send } from '../support/http.ts';

const LIST = '/api/v1/events';
const freshKey = () => crypto.randomUUID();

const store = async (aggregate_id: string) =>
  (await expectEvent(await ingest(bookingCreated({ aggregate_id }), freshKey()), 202)).id;

/** Stores events by a batch. Returns their ids in the order of the stream. */
async function storeMany(count: number, fields: Body = {}): Promise<string[]> {
  const events = Array.from({ length: count }, () => ({
    ...bookingCreated(fields),
    idempotency_key: freshKey(),
  }));
  const response = await send('/api/public/events/ingest/batch', ingestInit({ events }));
  await expectStatus(response, 200);
  const { data } = await response.json<{ data: { event: { id: string } }[] }>();
  return data.map(({ event }) => event.id);
}

it('resume_cursor resumes after the last page, also when this page was empty', async () => {
  const aggregate_id = freshKey();
  const query = `order=asc&aggregate_id=${aggregate_id}`;
  const empty = await listEvents(query);
  expect(empty).toMatchObject({ data: [], has_more: false, next_cursor: null });
  const first = await store(aggregate_id);
  const page = await listEvents(`${query}&cursor=${empty.resume_cursor}`);
  expect(page.data.map(({ id }) => id)).toEqual([first]);
  const second = await store(aggregate_id);
  const next = await listEvents(`${query}&cursor=${page.resume_cursor}`);
  expect(next.data.map(({ id }) => id)).toEqual([second]);
});

describe('id', () => {
  it('gives the stored events of up to 100 ids, oldest first, and only those that pass the other filters', async () => {
    const stored = [await store('a'), await store('b'), await store('a')];
    const ids = [...stored.toReversed(), ...Array.from({ length: 97 }, freshKey)].join();
    const idsIn = async (query: string) => (await listEvents(query)).data.map(({ id }) => id);
    expect(await idsIn(`order=asc&id=${ids}`)).toEqual(stored);
    expect(await idsIn(`id=${ids}`)).toEqual(stored.toReversed());
    expect(await idsIn(`order=asc&id=${ids}&aggregate_id=a`)).toEqual([stored[0], stored[2]]);
    expect(await idsIn(`order=asc&id=${ids}&after_id=${stored[1]}`)).toEqual([stored[2]]);
  });

  it('gives 100 events on one page, unless limit is sent', async () => {
    const ids = await storeMany(30);
    expect((await listEvents(`id=${ids.join()}`)).data).toHaveLength(30);
    expect((await listEvents(`id=${ids.join('&id=')}&limit=5`)).data).toHaveLength(5);
  });

  it('takes 100 ids at most, and UUIDs only', async () => {
    const ids = Array.from({ length: 101 }, freshKey);
    const error = await expectError(await get(`${LIST}?id=${ids}`), 400, 'validation_error');
    expect(error.details).toEqual([{ path: 'id', message: 'must be at most 100 ids' }]);
    await expectError(await get(`${LIST}?id=nope`), 400, 'validation_error');
  });
});

describe('wait', () => {
  it('responds at once when there is something to show', async () => {
    const aggregate_id = freshKey();
    await store(aggregate_id);
    const { data } = await listEvents(`order=asc&wait=25&aggregate_id=${aggregate_id}`);
    expect(data).toHaveLength(1);
  });

  it.each([
    ['wait=5', 'needs order=asc'],
    ['order=asc&wait=0', 'must be at least 1'],
    ['order=asc&wait=26', 'must be at most 25'],
    ['order=asc&wait=9999999999999999', 'must be at most 25'],
    ['order=asc&wait=1.5', 'must be a whole number'],
  ])('of %s is rejected: %s', async (query, message) => {
    const error = await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
    expect(error.details).toEqual([{ path: 'wait', message }]);
  });
});
