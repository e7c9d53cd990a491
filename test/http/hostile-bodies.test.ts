/** Bodies of the ingest endpoint: other people's lists of bad JSON and naughty strings, and random ones. */

import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import {
  CANARY,
  expectHarmless,
  expectWell,
  forEach,
  hostileHeader,
  hostileText,
  NAUGHTY,
  runs,
} from '../support/hostile.ts';
import { expectStatus, get, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
const parsing = env.TEST_JSON_SUITE;
const ACCEPTED = z.object({ id: z.string() });
const STORED = z.object({ aggregate_id: z.string(), payload: z.record(z.string(), z.unknown()) });
const LIST = z.object({ data: z.array(STORED) });

function post(body: BodyInit, headers: Record<string, string> = {}) {
  return send(INGEST, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  });
}

function bodyWith(fields: object): string {
  return JSON.stringify({
    event_type: 'booking.created',
    aggregate_id: 'bk_1',
    aggregate_type: 'booking',
    payload: {},
    ...fields,
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function readBack(response: Response) {
  await expectStatus(response, 202);
  const { id } = ACCEPTED.parse(await response.json());
  return STORED.parse(await (await get(`/api/v1/events/${id}`)).json());
}

vi.setConfig({ testTimeout: 120_000 });

afterEach(expectWell);

describe('JSONTestSuite', () => {
  /** Integers beyond ±(2^53−1), which JavaScript may round. */
  const ALTERED = [
    'y_number.json',
    'y_number_real_capital_e.json',
    'y_number_real_exponent.json',
    'y_number_real_fraction_exponent.json',
    'y_object_extreme_numbers.json',
  ];

  it('has all of its cases', () => {
    expect(parsing.length).toBeGreaterThan(300);
  });

  it('has no case that is an event', async () => {
    await forEach(parsing, async ({ input }) => expectHarmless(await post(input), [400]));
  });

  it('has no malformed case that passes inside a payload, and no well-formed case that is refused there, or altered', async () => {
    const wellFormed = parsing.filter(
      ({ name }) => name.startsWith('y_') && !ALTERED.includes(name),
    );
    expect(wellFormed.length).toBeGreaterThan(85);
    await forEach(parsing, async (each) => {
      const text = bodyWith({}).replace('{}', () => `{"value":${each.input}}`);
      const response = await post(text);
      await expectHarmless(response, isJson(text) ? [202, 400] : [400]);
      if (!wellFormed.includes(each)) return;
      const { value } = (await readBack(response)).payload;
      // As text: RFC 8785 has no -0.
      expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(each.input)));
    });
  });
});

describe('the naughty strings', () => {
  /** Batches, because each string as a request of its own takes fifty times as long. */
  const batches = Array.from({ length: Math.ceil(NAUGHTY.length / 100) }, (_, index) =>
    NAUGHTY.slice(index * 100, (index + 1) * 100),
  );

  it('has hundreds of strings', () => {
    expect(NAUGHTY.length).toBeGreaterThan(400);
  });

  it.each(batches.map((texts, batch) => ({ texts, batch })))(
    'are stored and read back exactly: hundred $batch',
    async ({ texts, batch }) => {
      const sent = texts.map((text) => ({
        aggregate_id: [...`${text}.`].slice(0, 255).join(''),
        payload: { [text]: text, list: [text] },
      }));
      const events = sent.map((fields, index) => ({
        ...JSON.parse(bodyWith(fields)),
        idempotency_key: `naughty-${batch}-${index}`,
      }));
      const response = await send(`${INGEST}/batch`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ events }),
      });
      await expectStatus(response, 200);
      const stored = LIST.parse(await (await get(`/api/v1/events?limit=${texts.length}`)).json());
      expect(stored.data).toMatchObject(sent.toReversed());
    },
  );
});

describe('a random body', () => {
  const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });

  it('of random JSON is refused', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        await expectHarmless(await post(JSON.stringify(value)), [400]);
      }),
      runs(150),
    );
  });

  it('of random bytes is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        await expectHarmless(await post(new Uint8Array(bytes)), [400]);
      }),
      runs(100),
    );
  });

  it('with any values in the fields is stored, or refused by documented codes', async () => {
    const value = fc.oneof(json, hostileText);
    const fields = fc.record(
      {
        event_type: fc.oneof(fc.constantFrom('booking.created', 'booking.cancelled'), value),
        aggregate_id: fc.oneof(fc.constant('bk_1'), value),
        aggregate_type: fc.oneof(fc.constant('booking'), value),
        payload: fc.dictionary(
          fc.oneof(
            fc.constantFrom(
              'property_id',
              'check_in',
              'check_out',
              'guests',
              'currency',
              'total_amount',
              'guest_email',
              'reason',
              'cancelled_at',
              'refund_amount',
            ),
            hostileText,
          ),
          value,
        ),
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

  it('cut or altered anywhere is no 5xx', async () => {
    const text = new TextEncoder().encode(
      bodyWith({ payload: { guests: 2, guest_email: 'a@example.com', note: CANARY } }),
    );
    const change = fc.record({
      at: fc.nat(text.length - 1),
      cut: fc.nat(4),
      put: fc.uint8Array({ maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        let bytes = [...text];
        for (const { at, cut, put } of changes) {
          bytes = [...bytes.slice(0, at), ...put, ...bytes.slice(at + cut)];
        }
        await expectHarmless(await post(new Uint8Array(bytes)), [202, 400]);
      }),
      runs(200),
    );
  });

  it.each([
    ['nesting', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
    [
      'nested lists in a payload',
      bodyWith({}).replace('{}', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
    ],
    ['many fields', `{${Array.from({ length: 20_000 }, (_, index) => `"f${index}":1`).join(',')}}`],
    ['many bad values', bodyWith({ payload: { list: Array(10_000).fill(2 ** 60) } })],
    ['one long name', `{"${'a'.repeat(250_000)}":1}`],
    ['a long number', bodyWith({}).replace('{}', `{"a":${'9'.repeat(200_000)}}`)],
    ['a repeated name', `{${Array(15_000).fill('"event_type":"x"').join(',')}}`],
  ])('of %s is refused in a small answer', async (_name, body) => {
    const response = await post(body);
    await expectHarmless(response, [400]);
    expect((await response.text()).length).toBeLessThan(60_000);
  });

  it('of over 256 KiB is 413, whatever it holds', async () => {
    for (const body of ['x'.repeat(262_145), bodyWith({ payload: { a: 'x'.repeat(262_144) } })]) {
      await expectHarmless(await post(body), [413]);
    }
  });
});

describe('the idempotency key', () => {
  it('of random text is accepted or refused, and never repeated', async () => {
    const body = bodyWith({ payload: { note: CANARY } });
    const keys = fc.oneof(
      hostileHeader,
      fc
        .string({ minLength: 250, maxLength: 260 })
        .map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
    );
    await fc.assert(
      fc.asyncProperty(keys, async (key) => {
        await expectHarmless(await post(body, { 'Idempotency-Key': key }), [200, 202, 400]);
      }),
      runs(250),
    );
  });
});
