/** Stored events as the OpenAPI document describes them, kind by kind. */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createDocument } from 'zod-openapi';
import { storedEventOf } from '../../src/events/stored-kinds.ts';
import { expectStatus, get, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';

async function ingest(type: string, payload: object): Promise<string> {
  const response = await send(INGEST, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      event_type: type,
      aggregate_id: 'a',
      aggregate_type: 'booking',
      payload,
    }),
  });
  await expectStatus(response, 202);
  return z.object({ id: z.string() }).parse(await response.json()).id;
}

/** The document's schemas for a catalogue and what was accepted before it. */
function schemasOf(...catalogues: Parameters<typeof storedEventOf>) {
  const document = createDocument({
    openapi: '3.1.1',
    info: { title: 'test', version: '1.0.0' },
    components: { schemas: { Root: z.strictObject({ event: storedEventOf(...catalogues) }) } },
  });
  return z.record(z.string(), z.unknown()).parse(document.components?.schemas);
}

describe('a stored event', () => {
  it('is described when it was accepted under looser bounds, or its payload was erased', async () => {
    for (const payload of ['{"guests":0.5,"check_in":"tomorrow","currency":"€"}', '{}']) {
      const id = await ingest('booking.created', {});
      await env.DB.prepare('UPDATE events SET payload = ? WHERE id = ?').bind(payload, id).run();
      const response = await get(`/api/v1/events/${id}`);
      await expectStatus(response, 200);
      expect(await response.json()).toMatchObject({ payload: JSON.parse(payload) });
    }
  });

  it('is described by its kind alone', async () => {
    const schemas = schemasOf(
      { 'stay.moved': z.looseObject({ nights: z.int().min(1).optional() }) },
      {},
    );
    expect(schemas).toMatchObject({
      StoredEvent: {
        oneOf: [{ $ref: '#/components/schemas/StoredStayMoved' }],
        discriminator: { mapping: { 'stay.moved': '#/components/schemas/StoredStayMoved' } },
      },
      StoredStayMoved: { properties: { type: { const: 'stay.moved' } } },
      StoredStayMovedPayload: { properties: { nights: { type: 'number' } } },
    });
    expect(JSON.stringify(schemas.StoredStayMovedPayload)).not.toMatch(/minimum|integer/);
  });

  it('goes on being described when its kind, or a type of its fields, is no longer accepted', () => {
    const schemas = schemasOf(
      { 'stay.moved': z.looseObject({ nights: z.int().optional() }) },
      {
        'stay.moved': z.looseObject({ nights: z.string().max(3), note: z.string() }),
        'stay.begun': z.looseObject({ room: z.string().optional() }),
      },
    );
    expect(schemas).toMatchObject({
      StoredEvent: {
        oneOf: [
          { $ref: '#/components/schemas/StoredStayMoved' },
          { $ref: '#/components/schemas/StoredStayBegun' },
        ],
      },
      StoredStayMovedPayload: {
        properties: {
          nights: { type: ['number', 'string'] },
          note: { type: 'string' },
        },
      },
    });
    expect(schemas.StoredStayMovedPayload).not.toHaveProperty('required');
  });
});
