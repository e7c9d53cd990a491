/**
 * Examples of the document are responses of the service. test/tools/openapi.test.ts validates all
 * of them.
 */

import { env } from 'cloudflare:workers';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/api-document.ts';
import { expectStatus, get } from '../support/http.ts';
import { storeListings } from '../support/listings.ts';
import { sampleSources } from '../support/samples.ts';

const FEED = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const EVENTS = '/api/v1/events';
/** The generations of the database in the cursors of the examples. */
const GENERATION = '5d1f0c2a9b7e4c6d8a3b1f0e2d4c6b8a';
const GENERATION_OF_EVENTS = '0f4c1d9a6b7e4c2f8a35d1e07b92c648';

const example = z.object({ summary: z.string().default(''), value: z.unknown() });
const content = z.object({
  'application/json': z.object({ examples: z.record(z.string(), example) }),
});
const operation = z.object({
  responses: z.record(z.string(), z.object({ content: content.optional() })),
});
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(createOpenApiDocument());

/** The examples of a successful GET. */
const examplesOf = (path: string) =>
  paths[path]?.get?.responses[200]?.content?.['application/json'].examples ?? {};

function setGeneration(generation: string) {
  return env.DB.prepare('UPDATE database_identity SET generation = ?').bind(generation).run();
}

beforeAll(() => storeListings(env.DB, sampleSources()));

it('has cursors that their lists accept with the filters in the summary', async () => {
  const page = z.object({
    next_cursor: z.string().nullish(),
    resume_cursor: z.string().optional(),
  });
  let cursors = 0;
  for (const path of Object.keys(paths)) {
    await setGeneration(path === EVENTS ? GENERATION_OF_EVENTS : GENERATION);
    const name = path === CHANGES ? 'after' : 'cursor';
    for (const { summary, value } of Object.values(examplesOf(path))) {
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

it.each([
  ['a listing', `${FEED}/{slugOrId}`, 'property', `${FEED}/casa-ginebrera`],
  ['a plain first page with its cursor', FEED, 'page', `${FEED}?limit=1`],
])('shows %s as the feed sends it', async (_, path, name, request) => {
  await setGeneration(GENERATION);
  const response = await get(request);
  await expectStatus(response, 200);
  expect(examplesOf(path)[name]?.value).toEqual(await response.json());
});
