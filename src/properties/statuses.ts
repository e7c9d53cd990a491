/** The statuses and types of listings, and the fields of their cards. */

import * as z from 'zod';

/** Statuses of the listings that the feed shows. The feed never shows a hidden listing. */
export const PUBLIC_STATUSES = ['listed', 'coming_soon', 'sold_out'] as const;

export const publicStatus = z
  .enum(PUBLIC_STATUSES)
  .meta({ id: 'PropertyStatus', description: 'Web status, never `hidden`.' });

export const storedStatus = z.enum([...PUBLIC_STATUSES, 'hidden']);

export const propertyType = z
  .enum(['beach', 'ski'])
  .meta({ id: 'PropertyType', description: 'Type of a home.' });

/** The fields that a card copies from its listing. */
export const CARD_FIELDS = {
  id: true,
  slug: true,
  name: true,
  status: true,
  title: true,
  type: true,
  bedrooms: true,
  bathrooms: true,
  capacity: true,
  size: true,
  city: true,
  price_from: true,
  fraction_from: true,
  hero_image: true,
  location: true,
  url: true,
  display_order: true,
  is_early_access: true,
} as const;
