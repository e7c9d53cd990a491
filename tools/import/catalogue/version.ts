/** Reads stored listings by the current schemas, and computes their versions. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import * as z from 'zod';
import type { Source } from '../../../src/properties/source.ts';
import { isMap, listingFields } from './listing-schemas.ts';

const storedListing = z.object(listingFields);

/**
 * Parses a stored listing. A field that was added to the schema later gets its default, as it does in
 * a file without the field. The fields are in the order of the schema.
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
  // The first spread sets the order of the fields, and the last one their values.
  return { ...knownFields, ...value, ...knownFields };
}

/**
 * Returns the version of a listing, e.g. `v1_d6eed6c02015b1b4`: a hash of its record in a listings
 * file. References are slugs in it, and empty values are omitted. Therefore neither a relabelled
 * amenity nor a new field without a value changes the version. The prefix names the form of the hash.
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
