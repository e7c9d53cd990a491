/**
 * Sends malformed and random requests. No response may be a 5xx or reveal internals of the service.
 * `send` compares each response with the OpenAPI document.
 */

import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { batchItem, bookingCreated, ingestInit } from '../support/events.ts';
import { expectError, expectStatus, get, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
/** A value that no error message may repeat. */
const CANARY = 'canary-5b1f6e';
const NAUGHTY = env.TEST_NAUGHTY_STRINGS;

vi.setConfig({ testTimeout: 120_000 });

/** Random text, often an attack on the parsing of paths, SQL, headers or logs. */
const hostileText = fc.oneof(
  fc.constantFrom(...NAUGHTY),
  fc.constantFrom("' OR '1'='1", '..%2f..%2f', '%ff%fe', 'a\0b', '\ud800', '__proto__', '-0'),
  fc.constantFrom('1e400', '9007199254740993', '%zz', '[object Object]', 'a'.repeat(5_000)),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
);

/** Matches SQL, stack traces, file names, library names and database errors, which no caller may see. */
const INTERNAL =
  /SQLITE|D1_|\bselect\b.*\bfrom\b|constraint failed|prepared statement|drizzle|\bzod\b|jose|hono|node_modules|\.(ts|mjs|js|sql)\b|\bat \S+ \(|TypeError|RangeError|SyntaxError|Unexpected token|undefined|\[object/i;

const errorTexts = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    param: z.string().default(''),
    details: z.array(z.object({ message: z.string() })).default([]),
  }),
});

/** Expects one of the statuses, and error messages that contain neither internals nor the `CANARY`. */
async function expectHarmless(response: Response, statuses: readonly number[]) {
  const text = await response.clone().text();
  expect(statuses, `${response.status}: ${text.slice(0, 500)}`).toContain(response.status);
  if (response.status < 400) return;
  const { error } = errorTexts.parse(JSON.parse(text));
  await expectError(response.clone(), response.status, error.code);
  // The message begins with the invalid field as the caller wrote it.
  const summary = error.message.replace(`${error.param}: `, '');
  for (const written of [summary, ...error.details.map((detail) => detail.message)]) {
    // For an enum, a message repeats the sent value before it lists the valid values.
    const message = written.replace(/^.* is not one of /s, 'is not one of ');
    expect(message).not.toMatch(INTERNAL);
    expect(message).not.toContain(CANARY);
  }
}

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
const anyOf = (text: string) => fc.constantFrom(...text.split(' '));

it('never returns a 5xx for a random path, query or header', async () => {
  const routes = createApp().routes.filter(({ method }) => method === 'GET');
  const routePath = fc.constantFrom(...routes.map(({ path }) => path.replace(/:\w+/, 'some-name')));
  const badly = anyOf(
    '%00 % %zz %c0%ae%c0%ae %2e%2e%2f a%2Fb %252e %0d%0aX:y .. . .env docs api v1',
  );
  const segment = fc.oneof(badly, fc.constant(''), hostileText.map(encoded));
  const segments = fc.array(segment, { maxLength: 6 }).map((names) => `/${names.join('/')}`);
  const item = segment.map((name) => `/api/v1/web/properties/${name}`);
  const parameter = anyOf('type status location_id limit cursor after fresh wait id locale order');
  const value = fc.oneof(
    anyOf('listed en,fr 25 0 +1 1e1 0x10 9999-12-31T23:59:59+23:59'),
    hostileText,
  );
  const pair = fc.tuple(fc.oneof(parameter, hostileText), value, fc.boolean());
  const header = anyOf('X-Request-ID x-api-key Authorization If-None-Match Origin Cookie Range');
  const request = fc.record({
    method: fc.oneof(fc.constant('GET'), anyOf('GET POST PUT DELETE OPTIONS PROPFIND QUERY')),
    path: fc.oneof(routePath, segments, item),
    pairs: fc.array(pair, { maxLength: 5 }),
    header: fc.tuple(
      header,
      hostileText.map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
    ),
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, pairs, header: [name, text] }) => {
      const query = pairs.map(([parameter, value, isEncoded]) =>
        [parameter, value].map((text) => (isEncoded ? encoded(text) : text)).join('='),
      );
      const url = `${path}?${[...query, `utm_source=${CANARY}`].join('&')}`;
      const response = await send(url, { method, headers: { [name]: text } });
      await expectHarmless(response, [200, 304, 400, 401, 404, 405, 415]);
    }),
    { numRuns: 400 },
  );
});

it('stores naughty strings unchanged', async () => {
  expect(NAUGHTY.length).toBeGreaterThan(400);
  for (let start = 0; start < NAUGHTY.length; start += 100) {
    const sent = NAUGHTY.slice(start, start + 100).map((text) => ({
      aggregate_id: [...`${text}.`].slice(0, 255).join(''),
      payload: { [text]: text, list: [text] },
    }));
    const events = sent.map(batchItem);
    await expectStatus(await send(`${INGEST}/batch`, ingestInit({ events })), 200);
    const stored = await get(`/api/v1/events?limit=${sent.length}`);
    expect(await stored.json()).toMatchObject({ data: sent.toReversed() });
  }
});

const withPayload = (payload: string) =>
  JSON.stringify(bookingCreated({ payload: {} })).replace('{}', () => payload);

it.each([
  ['deep nesting', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
  ['deeply nested lists', withPayload(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)],
  ['many fields', `{${Array.from({ length: 20_000 }, (_, index) => `"f${index}":1`).join(',')}}`],
  ['many invalid values', withPayload(JSON.stringify({ list: Array(10_000).fill(2 ** 60) }))],
  ['one long name', `{"${'a'.repeat(250_000)}":1}`],
  ['a repeated name', `{${Array(15_000).fill('"event_type":"x"').join(',')}}`],
])('rejects a body with %s in a small response', async (_name, body) => {
  const response = await send(INGEST, ingestInit(body));
  await expectHarmless(response, [400]);
  expect((await response.text()).length).toBeLessThan(60_000);
});
