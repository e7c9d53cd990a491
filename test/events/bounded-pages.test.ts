/**
 * Event lists with filters that cannot use an index. Each page reads at most 10,000 of the 50,000
 * events, and the pages together contain each matching event exactly once.
 */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeEventList, storedEvent } from '../../src/events/openapi/event.ts';
import { countCosts } from '../support/counting.ts';
import { expectStatus, readAllPages, sendWith } from '../support/http.ts';

const COUNT = 50_000;
const BEGAN_AT = Date.UTC(2027, 0, 1);
/** Maximum number of rows that a page reads besides events, e.g. the database state and the ids of a filter. */
const OVERHEAD = 10;
/** Maximum number of rows that a bisection of 50,000 events reads. Each of its 16 steps reads two rows. */
const BISECTION = 36;

/**
 * Stores one event per second, each up to half a minute early or late. The first event, the last event
 * and the events around each multiple of 10,000 are cancellations of a stay.
 */
beforeAll(async () => {
  await env.DB.prepare(
    `with recursive n(seq) as (select 1 union all select seq + 1 from n where seq < ${COUNT})
     insert into events (id, type, aggregate_type, aggregate_id, created_at, payload)
     select printf('%08x-0000-4000-8000-000000000000', seq),
       iif(seq in (1, ${COUNT}) or (seq + 1) % 10000 < 3, 'booking.cancelled', 'booking.created'),
       iif(seq in (1, ${COUNT}) or (seq + 1) % 10000 < 3, 'stay', 'booking'),
       'bk_' || (seq / 20), ${BEGAN_AT} + 1000 * (seq + seq * 7919 % 60 - 30), '{}' from n`,
  ).run();
});

const makeId = (seq: number) => `${seq.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
/** Id of the first event in each sort order. It is far from the events that the time filters select. */
const FIRST_READ_ID: Record<string, string> = { asc: makeId(1), desc: makeId(COUNT) };

const time = (seq: number) => new Date(BEGAN_AT + 1_000 * seq).toISOString();

async function readPage(query: string) {
  const { env: counted, costs } = countCosts(env);
  const response = await sendWith(counted, `/api/v1/events?limit=100&${query}`);
  await expectStatus(response, 200);
  expect(costs.d1RoundTrips).toBe(1);
  const { data, ...page } = makeEventList(storedEvent).parse(await response.json());
  return { ...page, seqs: data.map(({ id }) => Number.parseInt(id, 16)), rows: costs.d1RowsRead };
}

async function readAll(query: string) {
  const seqs: number[] = [];
  const rows: number[] = [];
  for await (const page of readAllPages((next) => readPage(`${query}${next}`))) {
    if (query.includes('order=asc') && page.has_more) {
      expect(page.resume_cursor).toBe(page.next_cursor);
    }
    seqs.push(...page.seqs);
    rows.push(page.rows);
  }
  return { seqs, rows };
}

async function seqsWhere(condition: string): Promise<number[]> {
  const { results } = await env.DB.prepare(
    `select seq from events where ${condition} order by seq`,
  ).all<{ seq: number }>();
  return results.map(({ seq }) => seq);
}

describe.each(['asc', 'desc'])('a list of events in the order %s', (order) => {
  it.each([
    ['type=booking.cancelled', `type = 'booking.cancelled'`, 5],
    ['type=none', `type = 'none'`, 5],
    ['aggregate_type=stay', `aggregate_type = 'stay'`, 5],
    [`type=none&created_after=${time(19_999)}`, `type = 'none'`, 4],
    [`type=none&created_before=${time(20_001)}`, `type = 'none'`, 3],
  ])('reads at most 10,000 events per page for %s', async (query, condition, pages) => {
    const { seqs, rows } = await readAll(`order=${order}&${query}`);
    const expected = await seqsWhere(condition);
    expect(seqs).toEqual(order === 'asc' ? expected : expected.toReversed());
    expect(Math.max(...rows)).toBeLessThanOrEqual(10_001 + OVERHEAD + 3 * BISECTION);
    expect(rows).toHaveLength(pages);
  });

  it.each([
    [`created_after=${time(49_700)}`, `created_at > ${BEGAN_AT + 49_700_000}`],
    [`created_before=${time(300)}`, `created_at < ${BEGAN_AT + 300_000}`],
    [
      `created_after=${time(25_000)}&created_before=${time(25_200)}`,
      `created_at > ${BEGAN_AT + 25_000_000} and created_at < ${BEGAN_AT + 25_200_000}`,
    ],
    [`created_after=${time(COUNT + 31)}`, '0'],
    [`created_before=${time(-31)}`, '0'],
    [
      `after_id=${FIRST_READ_ID[order]}&created_after=${time(25_000)}&created_before=${time(25_200)}`,
      `created_at > ${BEGAN_AT + 25_000_000} and created_at < ${BEGAN_AT + 25_200_000}`,
    ],
  ])('finds the events for %s by bisection', async (query, condition) => {
    const { seqs, rows } = await readAll(`order=${order}&${query}`);
    const expected = await seqsWhere(condition);
    expect(seqs).toEqual(order === 'asc' ? expected : expected.toReversed());
    // Each page may also read the events within a minute of a bound.
    expect(Math.max(...rows)).toBeLessThanOrEqual(101 + 2 * 60 + OVERHEAD + 4 * BISECTION);
  });

  it.each([
    ['', 100],
    ['aggregate_id=bk_7', 20],
    ['aggregate_id=bk_7&type=booking.created', 20],
    [`id=${makeId(1)},${makeId(COUNT)}`, 2],
  ])('reads few rows for the query "%s"', async (query, count) => {
    const { rows, seqs } = await readPage(`order=${order}&${query}`);
    expect(rows).toBeLessThanOrEqual(101 + OVERHEAD);
    expect(seqs).toHaveLength(count);
  });
});

it('returns an empty page immediately if more pages follow', async () => {
  const page = await readPage('order=asc&wait=25&type=none');
  expect(page).toMatchObject({ seqs: [], has_more: true });
  expect(page.resume_cursor).toBe(page.next_cursor);
});

it('stops reading at the last event of a full page', async () => {
  const { rows } = await readPage('type=booking.created');
  expect(rows).toBeLessThanOrEqual(102 + OVERHEAD);
});
