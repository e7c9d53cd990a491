/** The list of events at `GET /api/v1/events`, and one event at `GET /api/v1/events/:id`. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { makeEventList, storedEvent } from '../../src/events/openapi/event.ts';
import { bookingCreated, expectEvent, ingest, ingestInit, listEvents } from '../support/events.ts';
import {
  expectError,
  expectProblems,
  expectStatus,
  get,
  send,
  sendUndescribed,
  sendWith,
} from '../support/http.ts';
import { interceptD1 } from '../support/interceptor.ts';
import { namedKey } from '../support/keys.ts';

const LIST = '/api/v1/events';

/** Ingests events one after the other. Returns their ids in the same order. */
async function acceptInOrder(count: number, fields: (index: number) => object = () => ({})) {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const response = await ingest(bookingCreated({ payload: { index }, ...fields(index) }));
    ids.push((await expectEvent(response, 202)).id);
  }
  return ids;
}

async function getPageIds(query: string): Promise<string[]> {
  return (await listEvents(query)).data.map(({ id }) => id);
}

beforeEach(async () => {
  await env.DB.exec('DELETE FROM events');
});

describe('the list of events', () => {
  it('shows the aggregate and the payload of an event', async () => {
    const payload = { guests: 2, note: 'é "quoted" \u2028', nested: [{ a: null }] };
    const accepted = await expectEvent(await ingest(bookingCreated({ payload })), 202);
    expect((await listEvents()).data).toEqual([
      {
        ...accepted,
        aggregate_id: 'bk_1',
        aggregate_type: 'booking',
        received_from: null,
        erased_at: null,
        payload,
      },
    ]);
  });

  it('names the key that posted an event', async () => {
    const { key, entry } = await namedKey('booking-system', ['events:write']);
    for (const name of ['received-1', undefined]) {
      const post = ingestInit(bookingCreated(), name, { 'x-api-key': key });
      await sendWith({ API_KEYS: [entry] }, '/api/public/events/ingest', post);
    }
    await expectEvent(await ingest(bookingCreated(), 'received-1'), 200);
    await expectEvent(await ingest(bookingCreated()), 202);
    const { data } = await listEvents('order=asc');
    const names = data.map(({ received_from }) => received_from);
    expect(names).toEqual(['booking-system', 'booking-system', null]);
    const one = storedEvent.parse(await (await get(`${LIST}/${data[0]?.id}`)).json());
    expect(one.received_from).toBe('booking-system');
  });

  it('filters by aggregate and by one or more types', async () => {
    const ids = await acceptInOrder(8, (index) => ({
      event_type: index % 2 ? 'booking.cancelled' : 'booking.created',
      aggregate_type: index < 4 ? 'booking' : 'stay',
      aggregate_id: `agg-${index % 4}`,
    }));
    for (const [query, ...indexes] of [
      ['type=booking.cancelled', 1, 3, 5, 7],
      ['aggregate_type=stay', 4, 5, 6, 7],
      ['aggregate_id=agg-1', 1, 5],
      ['aggregate_id=agg-1&aggregate_type=booking&type=booking.cancelled', 1],
      ['type=none'],
      ['type=old.type,booking.created&type=none', 0, 2, 4, 6],
      ['type=%5B%22booking.created%22%5D'],
    ] as [string, ...number[]][]) {
      expect(await getPageIds(`order=asc&${query}`), query).toEqual(
        indexes.map((index) => ids[index]),
      );
    }
  });

  it('filters by exclusive time bounds with any UTC offset', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ids = await acceptInOrder(5, (index) => {
      vi.setSystemTime(Date.UTC(2027, 0, 1, index));
      return {};
    });
    for (const [from, to, query] of [
      [2, 5, 'created_after=2027-01-01T01:00:00Z'],
      [0, 3, 'created_before=2027-01-01T03:00:00.000Z'],
      [1, 3, 'created_after=2027-01-01T02:00:00%2B02:00&created_before=2027-01-01T00:00:00-03:00'],
      [0, 4, 'created_before=2027-01-01T03:00:00.0001Z'],
      [4, 5, 'created_after=2027-01-01T03:00:00.0001Z'],
      [2, 5, 'created_after=2027-01-01T01:00Z'],
      [2, 5, 'created_after=2027-01-01T03:00%2B0200'],
      [2, 5, 'created_after=2027-01-01T03:00:00%2B02'],
      [2, 5, 'created_after=2027-01-01T00:00-01:00'],
    ] as const) {
      expect(await getPageIds(`order=asc&${query}`), query).toEqual(ids.slice(from, to));
    }
  });

  it('continues after a given event in ascending or descending order', async () => {
    const ids = await acceptInOrder(5);
    expect(await getPageIds(`after_id=${ids[2]}`)).toEqual([ids[1], ids[0]]);
    expect(await getPageIds(`after_id=${ids[2]?.toUpperCase()}&order=asc`)).toEqual(ids.slice(3));
    expect(await getPageIds(`after_id=${ids[4]}&order=asc`)).toEqual([]);
  });

  it('resumes from the resume_cursor of the last page, even if that page is empty', async () => {
    const empty = await listEvents('order=asc');
    expect(empty).toMatchObject({ data: [], has_more: false, next_cursor: null });
    const [first] = await acceptInOrder(1);
    const page = await listEvents(`order=asc&cursor=${empty.resume_cursor}`);
    expect(page.data.map(({ id }) => id)).toEqual([first]);
    const [second] = await acceptInOrder(1);
    expect(await getPageIds(`order=asc&cursor=${page.resume_cursor}`)).toEqual([second]);
  });

  it('has a resume_cursor only on the first page in the default order', async () => {
    const stored = await acceptInOrder(3, () => ({ aggregate_id: 'home' }));
    await acceptInOrder(1, () => ({ aggregate_id: 'other' }));
    const filters = 'limit=2&aggregate_id=home';
    const first = await listEvents(filters);
    expect(first.data.map(({ id }) => id)).toEqual([stored[2], stored[1]]);
    const forward = `order=asc&aggregate_id=home&cursor=${first.resume_cursor}`;
    expect(await listEvents(forward)).toMatchObject({ data: [], has_more: false });
    const [later] = await acceptInOrder(1, () => ({ aggregate_id: 'home' }));
    expect(await getPageIds(forward)).toEqual([later]);
    const second = await listEvents(`${filters}&cursor=${first.next_cursor}`);
    expect(second.data.map(({ id }) => id)).toEqual([stored[0]]);
    expect(second.resume_cursor).toBeNull();
    await expectError(
      await send(`${LIST}?${filters}&cursor=${first.resume_cursor}`),
      400,
      'invalid_cursor',
    );
  });

  it('does not skip an event that is stored between the two reads of a large event', async () => {
    const [large] = await acceptInOrder(1, () => ({ payload: { note: 'a'.repeat(100_000) } }));
    const later: string[] = [];
    const DB = interceptD1(env.DB, async (call) => {
      const results = await call();
      if (later.length === 0) later.push(...(await acceptInOrder(1)));
      return results;
    });
    const response = await sendWith({ DB }, `${LIST}?order=asc&limit=100`);
    const page = makeEventList(storedEvent).parse(await response.json());
    expect(page.data.map(({ id }) => id)).toEqual([large]);
    expect(await getPageIds(`order=asc&cursor=${page.resume_cursor}`)).toEqual(later);
  });

  it('combines a filter of up to 100 ids with the other parameters', async () => {
    const stored = await acceptInOrder(30, (index) => ({ aggregate_id: index < 10 ? 'a' : 'b' }));
    const others = Array.from({ length: 70 }, () => crypto.randomUUID());
    const ids = [...stored.toReversed(), ...others].join();
    expect(await getPageIds(`order=asc&id=${ids}`)).toEqual(stored);
    expect(await getPageIds(`id=${ids.replaceAll(',', '&id=')}`)).toEqual(stored.toReversed());
    expect(await getPageIds(`order=asc&id=${ids}&limit=5`)).toEqual(stored.slice(0, 5));
    expect(await getPageIds(`order=asc&id=${ids}&aggregate_id=a`)).toEqual(stored.slice(0, 10));
    expect(await getPageIds(`order=asc&id=${ids}&after_id=${stored[9]}`)).toEqual(stored.slice(10));
  });

  it.each<[param: string, query: string, message?: string]>([
    ['order', 'order=up'],
    ['type', 'type=booking.created,'],
    ['type', `type=${'x'.repeat(256)}`],
    ['type', `type=${Array.from({ length: 51 }, (_, index) => index).join()}`],
    ['aggregate_type', `aggregate_type=${'x'.repeat(256)}`],
    ['aggregate_id', 'aggregate_id=%00'],
    ['created_after', 'created_after=2027-01-01'],
    [
      'created_after',
      'created_after=2027-02-30T00:00Z',
      '2027-02-30 is not a day of the calendar. It must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z',
    ],
    ['created_before', 'created_before=2027-02-30T00:00:00Z'],
    ['after_id', 'after_id=00000000-0000-4000-8000-000000000000'],
    ['id', 'id=nope'],
    [
      'id',
      `id=${Array.from({ length: 101 }, () => crypto.randomUUID())}`,
      'must be at most 100 ids',
    ],
    ['wait', 'wait=5', 'needs order=asc'],
    ['wait', 'order=asc&wait=0', 'must be at least 1'],
    ['wait', 'order=asc&wait=26', 'must be at most 25'],
    ['wait', 'order=asc&wait=1.5', 'must be a whole number'],
  ])('rejects an invalid %s (%#)', async (param, query, message = expect.any(String)) => {
    const messages = await expectProblems(await get(`${LIST}?${query}`), [param]);
    expect(messages).toEqual([message]);
  });

  it('reports wait without order=asc together with another invalid parameter', async () => {
    await expectProblems(await get(`${LIST}?wait=5&limit=0`), ['limit', 'wait']);
  });
});

describe('GET /api/v1/events/:id', () => {
  it('finds an event by its id in upper or lower case', async () => {
    const [id] = await acceptInOrder(1);
    const [listItem] = (await listEvents()).data;
    for (const path of [`${LIST}/${id}`, `${LIST}/${id?.toUpperCase()}`]) {
      const response = await get(path);
      await expectStatus(response, 200);
      expect(storedEvent.parse(await response.json())).toEqual(listItem);
    }
  });

  it('returns 404 for an unknown or malformed id', async () => {
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x', '%00', "'--"]) {
      await expectError(await get(`${LIST}/${id}`), 404, 'resource_missing');
    }
  });
});

it('returns an event of a type that only a later version accepts', async () => {
  const ids = await acceptInOrder(2);
  const later = env.DB.prepare(`UPDATE events SET type = 'stay.begun' WHERE id = ?`);
  await later.bind(ids[1]).run();
  // The OpenAPI document does not describe this event type.
  const read = async (path: string) => {
    const response = await sendUndescribed({}, `${LIST}${path}`);
    await expectStatus(response, 200);
    return response.json();
  };
  const stored = { id: ids[1], type: 'stay.begun', payload: { index: 1 } };
  expect(await read('?type=stay.begun,none')).toMatchObject({ data: [stored] });
  expect(await read(`/${ids[1]}`)).toMatchObject(stored);
});
