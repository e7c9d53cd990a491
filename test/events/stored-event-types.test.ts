/** Stored events as the OpenAPI document describes them, by event type. */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createDocument } from 'zod-openapi';
import { storedEventOf } from '../../src/events/openapi/event-types.ts';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { expectStatus, get } from '../support/http.ts';

/** The document's schemas for a catalogue. */
function schemasOf(catalogue: Parameters<typeof storedEventOf>[0]) {
  const document = createDocument({
    openapi: '3.1.1',
    info: { title: 'test', version: '1.0.0' },
    components: { schemas: { Root: z.strictObject({ event: storedEventOf(catalogue) }) } },
  });
  return z.record(z.string(), z.unknown()).parse(document.components?.schemas);
}

/**
 * Every event type that was ever accepted, with the types of its fields. Events are never deleted,
 * so nothing may ever be taken out: `storedEventOf` keeps an event type that is no longer accepted,
 * and a former type of a field.
 */
const EVER_ACCEPTED: Record<string, Record<string, string | string[]>> = {
  'booking.created': {
    occurred_at: 'string',
    property_id: 'string',
    check_in: 'string',
    check_out: 'string',
    guests: 'number',
    currency: 'string',
    total_amount: 'number',
    guest_email: 'string',
  },
  'booking.cancelled': {
    occurred_at: 'string',
    reason: 'string',
    cancelled_at: 'string',
    refund_amount: 'number',
    currency: 'string',
  },
};

const union = z.object({
  components: z.object({
    schemas: z.looseObject({
      StoredEvent: z.object({
        discriminator: z.object({ mapping: z.record(z.string(), z.string()) }),
      }),
    }),
  }),
});
const fields = z.object({ properties: z.record(z.string(), z.object({ type: z.unknown() })) });

/**
 * The payloads of stored events as the service's document describes them: event type → field →
 * type.
 */
function described(): Record<string, Record<string, unknown>> {
  const document: unknown = JSON.parse(JSON.stringify(createOpenApiDocument()));
  const { StoredEvent, ...schemas } = union.parse(document).components.schemas;
  return Object.fromEntries(
    Object.entries(StoredEvent.discriminator.mapping).map(([kind, reference]) => {
      const payload = schemas[`${reference.split('/').at(-1)}Payload`];
      const types = Object.entries(fields.parse(payload).properties);
      return [kind, Object.fromEntries(types.map(([name, { type }]) => [name, type]))];
    }),
  );
}

it('stored events are described for ever: each event type, with every type that its fields have had', () => {
  const hint =
    'Add what is new to EVER_ACCEPTED. storedEventOf in src/events/openapi/event-types.ts keeps what was accepted once.';
  expect(described(), hint).toEqual(EVER_ACCEPTED);
});

describe('a stored event', () => {
  it('is described when it was accepted under looser bounds, or its payload was erased', async () => {
    for (const payload of ['{"guests":0.5,"check_in":"tomorrow","currency":"€"}', '{}']) {
      const { id } = await expectEvent(await ingest(bookingCreated()), 202);
      await env.DB.prepare('UPDATE events SET payload = ? WHERE id = ?').bind(payload, id).run();
      const response = await get(`/api/v1/events/${id}`);
      await expectStatus(response, 200);
      expect(await response.json()).toMatchObject({ payload: JSON.parse(payload) });
    }
  });

  it('is described by its type alone', async () => {
    const schemas = schemasOf({
      'stay.moved': z.looseObject({ nights: z.int().min(1).optional() }),
    });
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
});
