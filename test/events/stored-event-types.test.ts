/** How the OpenAPI document describes stored events. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import * as z from 'zod';
import openapi from '../../docs/openapi.json';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { get } from '../support/http.ts';

const DATE = ['string', 'number', 'object', 'null'];
const CURRENCY = ['string', 'object', 'null'];
const AMOUNT = ['number', 'string', 'object', 'null'];
const BOOKING = {
  occurred_at: DATE,
  property_id: ['string', 'number', 'null'],
  check_in: DATE,
  check_out: DATE,
  guests: ['number', 'string', 'array', 'object', 'null'],
  currency: CURRENCY,
  total_amount: AMOUNT,
  guest_email: ['string', 'null'],
};

/**
 * All event types that were ever accepted, with the JSON types of their fields. Never remove a type,
 * because stored events are never deleted. `makeStoredEventSchema` preserves the event types and field
 * types that are no longer accepted.
 */
const EVER_ACCEPTED: Record<string, Record<string, string[]>> = {
  'booking.created': BOOKING,
  'booking.updated': BOOKING,
  'booking.cancelled': {
    occurred_at: DATE,
    reason: ['string', 'number', 'boolean', 'array', 'object', 'null'],
    cancelled_at: DATE,
    refund_amount: AMOUNT,
    currency: CURRENCY,
  },
};

const payload = z.object({ properties: z.record(z.string(), z.object({ type: z.unknown() })) });

it('describes every event type that was ever accepted, with every type its fields have had', () => {
  const { StoredEvent, ...schemas } = openapi.components.schemas;
  const byName = new Map<string, unknown>(Object.entries(schemas));
  const described = Object.entries(StoredEvent.discriminator.mapping).map(([kind, reference]) => {
    const { properties } = payload.parse(byName.get(`${reference.split('/').at(-1)}Payload`));
    const types = Object.entries(properties).map(([name, { type }]) => [name, type]);
    return [kind, Object.fromEntries(types)];
  });
  const hint =
    'Add new types to EVER_ACCEPTED. Keep removed types with makeStoredEventSchema (src/events/openapi).';
  expect(Object.fromEntries(described), hint).toEqual(EVER_ACCEPTED);
});

it('describes a stored event that the current rules would reject', async () => {
  const payload = { guests: 0.5, check_in: 'tomorrow', currency: '€' };
  const { id } = await expectEvent(await ingest(bookingCreated()), 202);
  const update = env.DB.prepare('UPDATE events SET payload = ? WHERE id = ?');
  await update.bind(JSON.stringify(payload), id).run();
  expect(await (await get(`/api/v1/events/${id}`)).json()).toMatchObject({ payload });
});
