/** Schemas of UUIDs (RFC 9562). The service accepts upper and lower case, and returns lower case. */

import * as z from 'zod';

/** Matches a UUID in upper or lower case. It has no flags, because the OpenAPI document contains its source. */
const UUID_FORM = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
export const UUID_PATTERN = UUID_FORM.source;
const LOWER_CASE_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return UUID_FORM.test(text);
}

const METADATA = {
  format: 'uuid',
  minLength: 36,
  maxLength: 36,
  examples: ['5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'],
};

/** A UUID in upper or lower case. Parsing converts it to lower case. */
export const uuid = z
  .string()
  .regex(UUID_FORM, 'must be a UUID')
  .toLowerCase()
  .register(z.globalRegistry, METADATA);

/** A UUID in lower case, as the service returns it. */
export const lowerCaseUuid = z.string().regex(LOWER_CASE_FORM).register(z.globalRegistry, METADATA);
