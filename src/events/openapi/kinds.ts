/** Schemas that have a member for each kind of event. */

import * as z from 'zod';

/** Returns the part of a schema's name that is the kind's: `booking.created` → `BookingCreated`. */
export function nameOfKind(kind: string): string {
  return kind
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** Makes the union of one schema for each kind. `field` tells the kinds apart. */
export function unionByKind<Member extends z.core.$ZodTypeDiscriminable>(
  field: string,
  members: readonly Member[],
) {
  const [first, ...others] = members;
  if (first === undefined) throw new Error('there is no kind of event');
  return z.discriminatedUnion(field, [first, ...others]);
}
