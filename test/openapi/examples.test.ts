/**
 * Five examples of the document are responses of the service. test/tools/openapi.test.ts validates
 * all of them.
 */

import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
import { expectStatus, get, send } from '../support/http.ts';
import { storeListings } from '../support/listings.ts';
import { sampleSources } from '../support/samples.ts';

const FEED = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';
/** The generations of the database in the cursors of the examples. */
const GENERATION = '5d1f0c2a9b7e4c6d8a3b1f0e2d4c6b8a';
const GENERATION_OF_EVENTS = '0f4c1d9a6b7e4c2f8a35d1e07b92c648';
/** When the responses of the examples were made, and the id of their requests. */
const NOW = '2027-01-15T09:30:00.000Z';
const REQUEST_ID = 'req_0f4c1d9a6b7e4c2f8a35d1e07b92c648';

const content = z.object({
  'application/json': z.object({
    examples: z.record(z.string(), z.object({ summary: z.string(), value: z.unknown() })),
  }),
});
const operation = z.object({
  responses: z.record(z.string(), z.object({ content: content.optional() })),
});
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(createOpenApiDocument());

async function expectExample(response: Response, [path, method, status, name]: string[]) {
  await expectStatus(response, Number(status));
  const shown = paths[path ?? '']?.[method ?? '']?.responses[status ?? '']?.content;
  expect(shown?.['application/json'].examples[name ?? '']?.value).toEqual(await response.json());
}

/** Sends the booking of the examples. */
function ingest(guests: number): Promise<Response> {
  const stay = { check_in: '2027-06-01', check_out: '2027-06-08', guests };
  return send(INGEST, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Idempotency-Key': 'bk_1001-created',
      'X-Request-ID': REQUEST_ID,
    },
    body: JSON.stringify({
      event_type: 'booking.created',
      aggregate_id: 'bk_1001',
      aggregate_type: 'booking',
      payload: { ...stay, currency: 'EUR', total_amount: 1450 },
    }),
  });
}

function setGeneration(generation: string) {
  return env.DB.prepare('UPDATE database_identity SET generation = ?').bind(generation).run();
}

beforeAll(() => storeListings(env.DB, sampleSources()));
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(NOW) }));
afterEach(() => void vi.useRealTimers());

it('has cursors that their lists accept with the filters in the summary', async () => {
  const page = z.object({
    next_cursor: z.string().nullish(),
    resume_cursor: z.string().optional(),
  });
  let cursors = 0;
  for (const [path, { get: list }] of Object.entries(paths)) {
    await setGeneration(path === EVENTS ? GENERATION_OF_EVENTS : GENERATION);
    const name = path === CHANGES ? 'after' : 'cursor';
    const examples = list?.responses['200']?.content?.['application/json'].examples ?? {};
    for (const { summary, value } of Object.values(examples)) {
      // e.g. The first page of limit=1
      const [filters = ''] = /\S+=\S+$/.exec(summary) ?? [];
      for (const cursor of Object.values(page.parse(value))) {
        if (!cursor) continue;
        cursors += 1;
        await expectStatus(await get(`${path}?${filters}&${name}=${cursor}`), 200);
      }
    }
  }
  expect(cursors).toBeGreaterThan(8);
});

it('shows a listing as the feed sends it', async () => {
  const response = await get(`${FEED}/casa-ginebrera`);
  await expectExample(response, [`${FEED}/{slugOrId}`, 'get', '200', 'property']);
});

it('shows the plain first page as the feed sends it, with its cursor', async () => {
  await expectExample(await get(`${FEED}?limit=1`), [FEED, 'get', '200', 'page']);
});

it('shows an event as it is accepted', async () => {
  await expectExample(await ingest(2), [INGEST, 'post', '202', 'accepted']);
});

it('shows the conflict with the body that holds a key', async () => {
  await ingest(2);
  const names = [INGEST, 'post', '409', 'idempotency_key_in_use'];
  await expectExample(await ingest(3), names);
});

it('shows the changes after a listing was changed and another one hidden', async () => {
  await setGeneration(GENERATION);
  await env.DB.prepare('UPDATE properties SET change_seq = NULL').run();
  const all = await (await get(`${CHANGES}?limit=100`)).json<{ resume_cursor: string }>();
  await env.DB.prepare(
    `UPDATE properties SET change_seq = iif(slug = 'casa-ginebrera', 1, 2), changed_at = ?,
       status = iif(slug = 'casa-ginebrera', 'listed', 'hidden'), removed_slug = slug,
       former_slugs = iif(slug = 'casa-ginebrera', '["can-ginebre"]', '[]')
     WHERE slug IN ('sa-domu-rubia', 'casa-ginebrera')`,
  )
    .bind(Date.parse(NOW))
    .run();
  const response = await get(`${CHANGES}?locale=en&after=${all.resume_cursor}`);
  await expectExample(response, [CHANGES, 'get', '200', 'last_page']);
});
