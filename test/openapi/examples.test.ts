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
/** The generation of the database in the cursors of the examples. */
const GENERATION = '5d1f0c2a9b7e4c6d8a3b1f0e2d4c6b8a';

const example = z.object({ value: z.unknown() });
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

beforeAll(async () => {
  await storeListings(env.DB, sampleSources());
  await env.DB.prepare('UPDATE database_identity SET generation = ?').bind(GENERATION).run();
});

it.each([
  ['a listing', `${FEED}/{slugOrId}`, 'property', `${FEED}/casa-ginebrera`],
  ['a plain first page with its cursor', FEED, 'page', `${FEED}?limit=1`],
])('shows %s as the feed sends it', async (_, path, name, request) => {
  const response = await get(request);
  await expectStatus(response, 200);
  expect(examplesOf(path)[name]?.value).toEqual(await response.json());
});
