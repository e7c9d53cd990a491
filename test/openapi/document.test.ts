/** Checks that the OpenAPI document matches the service. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { createOpenApiDocument } from '../../src/openapi/api-document.ts';
import { differencesFromDocument } from '../support/documented.ts';
import { get } from '../support/http.ts';

const LIST = '/api/v1/web/properties';

describe('the OpenAPI document', () => {
  it('has exactly the operations that the service registers', () => {
    const registered = createApp()
      .routes.filter((route) => route.method !== 'ALL')
      .map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}`);
    const described = Object.entries(createOpenApiDocument().paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.length).toBeGreaterThan(1);
    expect(described.sort()).toEqual([...new Set(registered)].sort());
  });

  it('allows unknown fields in responses', () => {
    const { paths, components } = createOpenApiDocument();
    const isClosed = (part: unknown) =>
      JSON.stringify(part).includes('"additionalProperties":false');
    const closed = Object.entries(components?.schemas ?? {}).filter(([, schema]) =>
      isClosed(schema),
    );
    const requestNames = /^(IngestBatch|\w+Request|\w+Item)$/;
    expect(closed.length).toBeGreaterThan(2);
    for (const [name] of closed) expect(name).toMatch(requestNames);
    expect(isClosed(paths)).toBe(false);
  });
});

it('detects every difference between a response and the OpenAPI document', async () => {
  const response = await get(LIST);
  const body = z.looseObject({}).parse(await response.json());
  const differences = (fields: object, status = 200, headers: Record<string, string> = {}) => {
    const init = { status, headers: { ...Object.fromEntries(response.headers), ...headers } };
    const changed = new Response(JSON.stringify({ ...body, ...fields }), init);
    return differencesFromDocument('GET', LIST, changed);
  };
  expect(await differences({})).toEqual([]);
  expect(await differences({}, 202)).toEqual(['status 202 is not described']);
  expect(await differences({}, 200, { 'x-new': '1' })).toEqual(['header x-new is not described']);
  expect(await differences({}, 200, { etag: 'a' })).toEqual([
    expect.stringMatching(/^header etag/),
  ]);
  expect(await differences({ total: 3 })).toEqual([expect.stringMatching(/^body .*total/)]);
});
