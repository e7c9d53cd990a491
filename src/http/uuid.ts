/** UUIDs are read in either case and handled in lower case (RFC 9562 section 4). */

import * as z from 'zod';

/** A UUID in either case. The OpenAPI document shows this pattern, and a pattern there has no flags. */
const UUID_FORM = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
const LOWER_CASE_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Reports whether the text is a UUID, in either case. */
export function isUuid(text: string): boolean {
  return UUID_FORM.test(text);
}

/** A UUID of any version, as a caller may write it. Its output is in lower case. */
export const uuid = z.string().regex(UUID_FORM, 'must be a UUID').toLowerCase();

/** A UUID as the service writes it. */
export const lowerCaseUuid = z.string().regex(LOWER_CASE_FORM);
