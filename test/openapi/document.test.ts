/** The OpenAPI document and the service say the same. */

import { describe, expect, it } from 'vitest';
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
  /** Returns the list's response with other headers, another status or another body. */
  async function changed(
    headers: Record<string, string>,
    status = 200,
    changeBody = (body: Record<string, unknown>): object => body,
  ): Promise<Response> {
    const response = await get(LIST);
    const made = new Response(JSON.stringify(changeBody(await response.json())), {
      status,
      headers: response.headers,
    });
    for (const [name, value] of Object.entries(headers)) made.headers.set(name, value);
    return made;
  }

  it.each<[what: string, response: () => Promise<Response>, differences: unknown[]]>([
    ['nothing, if the document describes it', () => changed({}), []],
    ['its status', () => changed({}, 202), ['status 202 is not described']],
    [
      'an unknown header',
      () => changed({ 'X-Surprise': '1' }),
      ['header x-surprise is not described'],
    ],
    [
      'a header of another form',
      () => changed({ 'X-RateLimit-Limit': 'many' }),
      [expect.stringMatching(/^header x-ratelimit-limit: /)],
    ],
    [
      'its content type',
      () => changed({ 'Content-Type': 'text/plain' }),
      ['content type text/plain is not described'],
    ],
    [
      'an unknown field',
      () => changed({}, 200, (body) => ({ ...body, total: 3 })),
      [expect.stringMatching(/^body .*total/)],
    ],
    [
      'a missing field',
      () => changed({}, 200, ({ has_more, ...body }) => body),
      [expect.stringMatching(/^body has_more/)],
    ],
    [
      'a field of an item',
      () => changed({}, 200, (body) => ({ ...body, data: [{ object: 'property' }] })),
      expect.arrayContaining([expect.stringMatching(/^body data/)]),
    ],
  ])('%s', async (_, response, differences) => {
    expect(await differencesFromDocument('GET', LIST, await response())).toEqual(differences);
  });

  it('a missing header', async () => {
    const response = await changed({});
    response.headers.delete('X-Request-ID');
    const found = await differencesFromDocument('GET', LIST, response);
    expect(found).toEqual(['header x-request-id is missing']);
  });

  it('an error code that the status does not have', async () => {
    const response = await get(`${LIST}?limit=0`);
    const text = (await response.text()).replace('"validation_error"', '"resource_missing"');
    expect(await differencesFromDocument('GET', LIST, new Response(text, response))).toEqual([
      'error code resource_missing is not described',
    ]);
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
