/** The OpenAPI document and the service say the same. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
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
    const patterns = (under: string[]) =>
      objectsOf(document)
        .filter(({ object }) => 'format' in object && object.format === 'uuid')
        .filter(({ path }) => under.some((part) => path.includes(part)))
        .map(({ object }) => ('pattern' in object ? String(object.pattern) : ''));
    const upperCase = '5F0C2A7E-1F0B-4C67-9A55-3D1F6A1E8B42';
    const requests = patterns(['BookingCreatedPayload', 'parameters']);
    expect(requests.length).toBeGreaterThan(1);
    for (const pattern of requests) expect(upperCase).toMatch(new RegExp(pattern));
    const responses = patterns([
      'AcceptedEvent',
      'StoredBookingCreated',
      'Property',
      'PropertyLocation',
    ]);
    expect(responses.length).toBeGreaterThan(1);
    for (const pattern of responses) expect(upperCase).not.toMatch(new RegExp(pattern));
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
  type Change = { status?: number; headers?: Record<string, string | null>; body?: object };

  /**
   * Returns a response with another status, other headers, or other fields. Undefined fields are
   * missing.
   */
  async function changed(query: string, { status, headers = {}, body }: Change): Promise<Response> {
    const response = await get(`${LIST}${query}`);
    const fields = z.looseObject({}).parse(await response.json());
    const made = new Response(JSON.stringify({ ...fields, ...body }), {
      status: status ?? response.status,
      headers: response.headers,
    });
    for (const [name, value] of Object.entries(headers)) {
      if (value === null) made.headers.delete(name);
      else made.headers.set(name, value);
    }
    return made;
  }

  const wrongCode = { type: 'api_error', code: 'resource_missing', message: 'no', request_id: 'a' };

  it.each<[what: string, change: Change, difference: RegExp, query?: string]>([
    ['its status', { status: 202 }, /^status 202 is not described$/],
    ['an unknown header', { headers: { 'X-New': '1' } }, /^header x-new is not described$/],
    ['a header of another form', { headers: { ETag: 'W/"a"' } }, /^header etag: /],
    ['a missing header', { headers: { ETag: null } }, /^header etag is missing$/],
    ['its content type', { headers: { 'Content-Type': 'text/a' } }, /^content type text\/a is not/],
    ['an unknown field', { body: { total: 3 } }, /^body .*total/],
    ['a missing field', { body: { has_more: undefined } }, /^body has_more/],
    ['a field of an item', { body: { data: [{ object: 'property' }] } }, /^body data/],
    [
      'an error code',
      { body: { error: wrongCode } },
      /^error code resource_missing is/,
      '?limit=0',
    ],
  ])('%s', async (_, change, difference, query = '') => {
    expect(await differencesFromDocument('GET', LIST, await changed(query, {}))).toEqual([]);
    const found = await differencesFromDocument('GET', LIST, await changed(query, change));
    expect(found.length).toBeGreaterThan(0);
    for (const line of found) expect(line).toMatch(difference);
  });

  it('the 404 of a path that the service has, with each method', async () => {
    const elsewhere = await get('/api/none');
    expect(await differencesFromDocument('GET', '/api/none', elsewhere)).toEqual([]);
    for (const method of ['GET', 'PUT']) {
      expect(await differencesFromDocument(method, LIST, elsewhere)).toEqual([
        'status 404 is not described',
      ]);
    }
  });
});
