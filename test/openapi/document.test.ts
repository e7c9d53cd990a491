/** The OpenAPI document and the service say the same. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/api-document.ts';
import { createApp } from '../../src/app.ts';
import { differencesFromDocument } from '../support/documented.ts';
import { get } from '../support/http.ts';

const LIST = '/api/v1/web/properties';
const document: unknown = JSON.parse(JSON.stringify(createOpenApiDocument()));

/** Every object of the document with its path in it. */
function objectsOf(value: unknown, path: string[] = []): { path: string[]; object: object }[] {
  if (typeof value !== 'object' || value === null) return [];
  const within = Object.entries(value).flatMap(([key, each]) => objectsOf(each, [...path, key]));
  return [{ path, object: value }, ...within];
}

describe('the OpenAPI document', () => {
  it('has the operations that the service registers, no more and no fewer', () => {
    const registered = createApp()
      .routes.filter((route) => route.method !== 'ALL')
      .map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}`);
    const described = Object.entries(createOpenApiDocument().paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.length).toBeGreaterThan(1);
    expect(described.sort()).toEqual([...new Set(registered)].sort());
  });

  it('has UUIDs of requests in either case, and UUIDs of responses in lower case', () => {
    const patterns = (under: string) =>
      objectsOf(document)
        .filter(({ path, object }) => path.includes(under) && Object(object).format === 'uuid')
        .map(({ object }) => new RegExp(Object(object).pattern));
    const upperCase = '5F0C2A7E-1F0B-4C67-9A55-3D1F6A1E8B42';
    expect(patterns('parameters').map((each) => each.test(upperCase))).toContain(true);
    for (const schema of [
      'AcceptedEvent',
      'StoredBookingCreated',
      'Property',
      'PropertyLocation',
    ]) {
      expect(patterns(schema).map((each) => each.test(upperCase))).not.toContain(true);
    }
  });

  it('lets responses have unknown fields, which a later release may add; the form for tests does not', () => {
    const isClosed = ({ object }: { object: object }) =>
      'additionalProperties' in object && object.additionalProperties === false;
    const closed = objectsOf(document).filter(isClosed);
    const ofRequests = /^components\.schemas\.(IngestBatch|\w+Request|\w+Item)$/;
    expect(closed.length).toBeGreaterThan(2);
    for (const { path } of closed) expect(path.join('.')).toMatch(ofRequests);

    const open = objectsOf(createOpenApiDocument('strict').components?.schemas)
      .filter(({ object }) => 'properties' in object && !isClosed({ object }))
      .map(({ path }) => path.join('.'));
    expect(open.filter((path) => !/payload/i.test(path))).toEqual([]);
  });
});

describe('a response that the document does not describe is found by', () => {
  /** A response with another status, other headers, or other fields. Undefined fields are missing. */
  type Change = { status?: number; headers?: Record<string, string | undefined>; body?: object };

  async function differences(query: string, { status, headers, body }: Change): Promise<string[]> {
    const response = await get(`${LIST}${query}`);
    const fields = z.looseObject({}).parse(await response.json());
    const sent = { ...Object.fromEntries(response.headers), ...headers };
    const changed = Object.entries(sent).filter(([, value]) => value !== undefined);
    const made = new Response(JSON.stringify({ ...fields, ...body }), {
      status: status ?? response.status,
      headers: z.record(z.string(), z.string()).parse(Object.fromEntries(changed)),
    });
    return differencesFromDocument('GET', LIST, made);
  }

  const wrongCode = { type: 'api_error', code: 'resource_missing', message: 'no', request_id: 'a' };

  it.each<[what: string, change: Change, difference: RegExp, query?: string]>([
    ['its status', { status: 202 }, /^status 202 is not described$/],
    ['an unknown header', { headers: { 'x-new': '1' } }, /^header x-new is not described$/],
    ['a header of another form', { headers: { etag: 'W/"a"' } }, /^header etag: /],
    ['a missing header', { headers: { etag: undefined } }, /^header etag is missing$/],
    ['its content type', { headers: { 'content-type': 'text/a' } }, /^content type text\/a is not/],
    ['an unknown field', { body: { total: 3 } }, /^body .*total/],
    ['a missing field', { body: { has_more: undefined } }, /^body has_more/],
    ['a field of an item', { body: { data: [{ object: 'property' }] } }, /^body data/],
    ['an error code', { body: { error: wrongCode } }, /^error code resource_missing/, '?limit=0'],
  ])('%s', async (_, change, difference, query = '') => {
    expect(await differences(query, {})).toEqual([]);
    const found = await differences(query, change);
    expect(found.length).toBeGreaterThan(0);
    for (const line of found) expect(line).toMatch(difference);
  });

  it('the 404 of a path that the service has, with each method', async () => {
    const elsewhere = await get('/api/none');
    expect(await differencesFromDocument('GET', '/api/none', elsewhere)).toEqual([]);
    for (const method of ['GET', 'PUT']) {
      const found = await differencesFromDocument(method, LIST, elsewhere);
      expect(found).toEqual(['status 404 is not described']);
    }
  });
});
