/** The words that a listing may have as its web status and as its type. */

import * as z from 'zod';

/** A hidden listing is never on the wire. */
export const PUBLIC_STATUSES = ['listed', 'coming_soon', 'sold_out'] as const;

export const publicStatus = z
  .enum(PUBLIC_STATUSES)
  .meta({ id: 'PropertyStatus', description: 'Web status, never `hidden`.' });

/** The web status of a stored listing. */
export const storedStatus = z.enum([...PUBLIC_STATUSES, 'hidden']);

export const propertyType = z
  .enum(['beach', 'ski'])
  .meta({ id: 'PropertyType', description: 'Type of a home.' });
