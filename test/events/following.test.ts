/** Following the stream of events: `resume_cursor`, `id` and `wait`. */

import { describe, expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest, listEvents } from '../support/events.ts';
import { expectError, get } from '../support/http.ts';

const LIST = '/api/v1/events';
const freshKey = () => crypto.randomUUID();

const store = async (aggregate_id: string) =>
  (await expectEvent(await ingest(bookingCreated({ aggregate_id }), freshKey()), 202)).id;

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
  it('selects the stored events of up to 100 ids, in either order, beside the other filters', async () => {
    const stored = [await store('a'), await store('b'), await store('a')];
    const ids = [...stored.toReversed(), ...Array.from({ length: 97 }, freshKey)].join();
    const idsIn = async (query: string) => (await listEvents(query)).data.map(({ id }) => id);
    expect(await idsIn(`order=asc&id=${ids}`)).toEqual(stored);
    expect(await idsIn(`id=${ids}`)).toEqual(stored.toReversed());
    expect(await idsIn(`order=asc&id=${ids}&aggregate_id=a`)).toEqual([stored[0], stored[2]]);
    expect(await idsIn(`order=asc&id=${ids}&after_id=${stored[1]}`)).toEqual([stored[2]]);
  });

  it('has 100 events on a page, unless limit is sent', async () => {
    const ids = [];
    for (let stored = 0; stored < 30; stored += 1) ids.push(await store('c'));
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
