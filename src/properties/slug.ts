/** The schema of a slug, the public key of a listing, a location or an amenity. */

import * as z from 'zod';
import { isUuid } from '../schema/uuid.ts';

const MAX_SLUG_CHARACTERS = 200;
const SLUG_FORM = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
const SLUG_MESSAGE =
  'must be lower-case letters and digits in words joined by single hyphens or underscores';

/** Schema of a slug. A slug must not be a UUID, because a path contains either a slug or an id. */
export const slug = z
  .string()
  .max(MAX_SLUG_CHARACTERS)
  .regex(SLUG_FORM, SLUG_MESSAGE)
  .refine((value) => !isUuid(value), { error: 'must not be a UUID' })
  .register(z.globalRegistry, { examples: ['casa-marea'] });
