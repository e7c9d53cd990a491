/**
 * The types of the fields, in the document with which every response of the tests is compared
 * (test/support/documented.ts).
 */

import { expect, it } from 'vitest';
import * as z from 'zod';
import openapi from '../../docs/openapi.json' with { type: 'json' };

type Schema = { [keyword: string]: unknown; properties?: Record<string, Schema> };

const schemas = z.record(z.string(), z.custom<Schema>()).parse(openapi.components.schemas);

/** Follows references to named enums and nullable objects; other references are their names. */
function typeOf(schema: Schema = {}): string {
  const name =
    String(schema.$ref ?? '')
      .split('/')
      .at(-1) ?? '';
  const named = schemas[name];
  if (named !== undefined) {
    if ('enum' in named) return typeOf(named);
    return [named.type].flat().includes('null') ? `${name} | null` : name;
  }
  const { anyOf, type, format, items } = schema;
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.join(' | ');
  if (type === 'array') return `${typeOf(items as Schema)}[]`;
  if (format === 'uuid') return 'UUID';
  if (format === 'date-time') return 'timestamp';
  return [type].flat().join(' | ');
}

it.each([
  ['AcceptedEvent.object', '"event"'],
  ['AcceptedEvent.id', 'UUID'],
  ['AcceptedEvent.type', 'string'],
  ['AcceptedEvent.status', 'pending | idempotent'],
  ['AcceptedEvent.created_at', 'timestamp'],
  ['BookingCreatedRequest.event_type', '"booking.created"'],
  ['BookingCreatedRequest.aggregate_id', 'string'],
  ['BookingCreatedRequest.aggregate_type', 'string'],
  ['BookingCreatedRequest.payload', 'BookingCreatedPayload'],
  ['BookingCancelledRequest.event_type', '"booking.cancelled"'],
  ['BookingCancelledRequest.payload', 'BookingCancelledPayload'],
  ['PropertyList.object', '"list"'],
  ['PropertyList.data', 'Property[]'],
  ['PropertyList.has_more', 'boolean'],
  ['PropertyList.next_cursor', 'string | null'],
  ['LocaleMap.en', 'string'],
  ['LocaleMap.es', 'string'],
  ['LocaleMap.fr', 'string'],
  ['Property.object', '"property"'],
  ['Property.id', 'UUID'],
  ['Property.hid', 'string | null'],
  ['Property.slug', 'string'],
  ['Property.name', 'string'],
  ['Property.status', 'listed | coming_soon | sold_out'],
  ['Property.title', 'LocaleMap'],
  ['Property.type', 'beach | ski | null'],
  ['Property.description', 'LocaleMap'],
  ['Property.unique_features', 'Feature[]'],
  ['Feature.icon_slug', 'string'],
  ['Feature.label', 'LocaleMap'],
  ['Property.bedrooms', 'integer | null'],
  ['Property.beds', 'integer | null'],
  ['Property.bathrooms', 'number | null'],
  ['Property.bathtubs', 'integer | null'],
  ['Property.capacity', 'integer | null'],
  ['Property.size', 'number | null'],
  ['Property.address', 'string | null'],
  ['Property.city', 'string | null'],
  ['Property.latitude', 'number | null'],
  ['Property.longitude', 'number | null'],
  ['Property.price_from', 'number | null'],
  ['Property.fraction_from', 'string | null'],
  ['Property.weeks_per_year', 'number | null'],
  ['Property.financial_analysis_url', 'string | null'],
  ['Property.hero_image', 'HeroImage | null'],
  ['HeroImage.url', 'string'],
  ['HeroImage.alt', 'LocaleMap'],
  ['Property.gallery', 'GalleryPhoto[]'],
  ['GalleryPhoto.url', 'string'],
  ['GalleryPhoto.alt', 'LocaleMap'],
  ['GalleryPhoto.section', 'hero | gallery | studio | location | what_to_do | other'],
  ['GalleryPhoto.sort_order', 'integer'],
  ['Property.video_url', 'string | null'],
  ['Property.location', 'PropertyLocation | null'],
  ['PropertyLocation.id', 'UUID'],
  ['PropertyLocation.slug', 'string | null'],
  ['PropertyLocation.name', 'LocaleMap'],
  ['Property.location_text', 'LocaleMap'],
  ['Property.amenities', 'Amenity[]'],
  ['Amenity.slug', 'string'],
  ['Amenity.label', 'LocaleMap'],
  ['Property.url', 'string'],
  ['Property.display_order', 'integer'],
  ['Property.is_early_access', 'boolean'],
  ['ErrorInfo.message', 'string'],
  ['ErrorInfo.param', 'string'],
  ['ErrorInfo.request_id', 'string'],
  ['ErrorInfo.details', 'Problem[]'],
  ['Problem.path', 'string'],
  ['Problem.message', 'string'],
  ['ErrorEnvelope.error', 'ErrorInfo'],
  ['ErrorEnvelope.statusCode', 'integer'],
  ['ErrorEnvelope.timestamp', 'timestamp'],
  ['ErrorEnvelope.path', 'string'],
  ['ErrorEnvelope.method', 'string'],
  ['ErrorEnvelope.message', 'string'],
])('the type of %s is %s', (name, type) => {
  const [resource = '', field = ''] = name.split('.');
  expect(typeOf(schemas[resource]?.properties?.[field])).toBe(type);
});

it('every field of a property is always there, and no language of a text', () => {
  const { Property, LocaleMap } = openapi.components.schemas;
  expect(Property.required.toSorted()).toEqual(Object.keys(Property.properties).toSorted());
  expect(LocaleMap).not.toHaveProperty('required');
});
