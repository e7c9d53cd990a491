/** A stored listing as the current schemas read it, and its version. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import * as z from 'zod';
import type { Source } from '../../../src/properties/source.ts';
import { isMap, listingFields } from './listing-schemas.ts';

const storedListing = z.object(listingFields);

/**
 * Parses a stored source. A field that was added to the schema later gets the value that a file
 * without it gives, so that both are the same. The fields have the order of the schema.
 */
export function readSource(json: string): Source {
  const source: Source = JSON.parse(json);
  return addDefaults(source, storedListing);
}

function addDefaults(value: Source, schema: z.ZodObject): Source;
function addDefaults(value: unknown, schema: unknown): unknown;
function addDefaults(value: unknown, schema: unknown): unknown {
  if (schema instanceof z.ZodDefault) {
    return value === undefined ? schema.parse(undefined) : addDefaults(value, schema.unwrap());
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((entry) => addDefaults(entry, schema.element));
  }
  if (!(schema instanceof z.ZodObject) || !isMap(value)) return value;
  const fields = Object.entries(schema.shape).flatMap(([name, field]) => {
    const now = addDefaults(value[name], field);
    return now === undefined ? [] : [[name, now]];
  });
  const knownFields = Object.fromEntries(fields);
  // The first decides the order, and the last the values.
  return { ...knownFields, ...value, ...knownFields };
}

/**
 * Returns the version of a listing: a hash of its record in a listings file, with slugs for its
 * references. What has no value does not count, so that neither a renamed amenity nor a new field
 * makes another version. The first characters name the form of the hash.
 */
export function computeVersion({ location, amenities, ...fields }: Source): string {
  const record = {
    ...fields,
    location: location?.slug ?? location?.id,
    amenities: amenities.map(({ slug }) => slug),
  };
  const valued = JSON.stringify(record, (_, value: unknown) =>
    isEmpty(value) ? undefined : value,
  );
  const hash = createHash('sha256').update(canonicalize(JSON.parse(valued)) ?? '');
  return `v1_${hash.digest('hex').slice(0, 16)}`;
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object') return value === false;
  return value === null || Object.keys(value).length === 0;
}
