/**
 * Bodies of the ingest endpoint: other people's lists of bad JSON and naughty strings, and random
 * ones.
 */

import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { expectHarmless, hostileText, NAUGHTY, runs } from '../support/hostile.ts';
import { expectStatus, get, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
const STORED = z.object({ aggregate_id: z.string(), payload: z.record(z.string(), z.unknown()) });
const LIST = z.object({ data: z.array(STORED) });

const post = (body: BodyInit) => send(INGEST, { ...ingestInit(''), body });

const withPayload = (payload: string) =>
  JSON.stringify(bookingCreated({ payload: {} })).replace('{}', () => payload);

vi.setConfig({ testTimeout: 120_000 });

/** Integers beyond ±(2^53−1), which JavaScript may round. */
const ALTERED = [
  'y_number.json',
  'y_number_real_capital_e.json',
  'y_number_real_exponent.json',
  'y_number_real_fraction_exponent.json',
  'y_object_extreme_numbers.json',
];

it('no case of JSONTestSuite is an event; inside a payload the well-formed ones are stored exactly, and the others rejected', async () => {
  const cases = env.TEST_JSON_SUITE;
  expect(cases.length).toBeGreaterThan(300);
  const check = async ({ name, input }: (typeof cases)[number]) => {
    await expectHarmless(await post(input), [400]);
    const response = await post(withPayload(`{"value":${input}}`));
    // Each parser may decide about the cases of the group `i_`.
    await expectHarmless(response, name.startsWith('n_') ? [400] : [202, 400]);
    if (!name.startsWith('y_') || ALTERED.includes(name)) return;
    await expectStatus(response, 202);
    const { id } = z.object({ id: z.string() }).parse(await response.json());
    const { payload } = STORED.parse(await (await get(`/api/v1/events/${id}`)).json());
    // As text: RFC 8785 has no -0.
    expect(JSON.stringify(payload.value), name).toBe(JSON.stringify(JSON.parse(input)));
  };
  for (let start = 0; start < cases.length; start += 8) {
    await Promise.all(cases.slice(start, start + 8).map(check));
  }
});

it('naughty strings are stored and read back exactly', async () => {
  expect(NAUGHTY.length).toBeGreaterThan(400);
  for (let start = 0; start < NAUGHTY.length; start += 100) {
    const sent = NAUGHTY.slice(start, start + 100).map((text) => ({
      aggregate_id: [...`${text}.`].slice(0, 255).join(''),
      payload: { [text]: text, list: [text] },
    }));
    const events = sent.map((fields, index) => ({
      ...bookingCreated(fields),
      idempotency_key: `naughty-${start + index}`,
    }));
    await expectStatus(await send(`${INGEST}/batch`, ingestInit({ events })), 200);
    const stored = LIST.parse(await (await get(`/api/v1/events?limit=${sent.length}`)).json());
    expect(stored.data).toMatchObject(sent.toReversed());
  }
});

it('a body with random values in the fields is stored, or rejected by documented codes', async () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), hostileText);
  const known = 'check_in check_out guests currency guest_email cancelled_at occurred_at';
  const name = fc.oneof(fc.constantFrom(...known.split(' ')), hostileText);
  const fields = fc.record(
    {
      event_type: fc.oneof(fc.constantFrom('booking.created', 'booking.cancelled'), value),
      aggregate_id: fc.oneof(fc.constant('bk_1'), value),
      aggregate_type: fc.oneof(fc.constant('booking'), value),
      payload: fc.dictionary(name, value),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fields, async (body) => {
      await expectHarmless(await post(JSON.stringify(body)), [202, 400, 413]);
    }),
    runs(250),
  );
});

it.each([
  ['nesting', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
  ['nested lists', withPayload(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)],
  ['many fields', `{${Array.from({ length: 20_000 }, (_, index) => `"f${index}":1`).join(',')}}`],
  ['many bad values', withPayload(JSON.stringify({ list: Array(10_000).fill(2 ** 60) }))],
  ['one long name', `{"${'a'.repeat(250_000)}":1}`],
  ['a long number', withPayload(`{"a":${'9'.repeat(200_000)}}`)],
  ['a repeated name', `{${Array(15_000).fill('"event_type":"x"').join(',')}}`],
])('a body of %s is rejected in a small response', async (_name, body) => {
  const response = await post(body);
  await expectHarmless(response, [400]);
  expect((await response.text()).length).toBeLessThan(60_000);
});
