/** UUIDs are read in either case and handled in lower case (RFC 9562 section 4). */

import * as z from 'zod';

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return FORM.test(text);
}

/** Any UUID, of any version. Output is in lower case. */
export const uuid = z
  .string()
  .regex(FORM, 'must be a UUID')
  .toLowerCase()
  .meta({ format: 'uuid', maxLength: 36, examples: ['5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'] });
