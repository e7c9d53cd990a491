/** A listing for search engines, as JSON-LD. */

import type { Language, Text } from './addresses.ts';

export type Listing = {
  name: string;
  status: 'listed' | 'coming_soon' | 'sold_out';
  title: Text;
  description: Text;
  gallery: { url: string }[];
  city: string | null;
  latitude: number | null;
  longitude: number | null;
  bedrooms: number | null;
  capacity: number | null;
  price_from: number | null;
};

/** The feed names no currency. */
export const CURRENCY = 'EUR';
const AVAILABILITY = { listed: 'InStock', coming_soon: 'PreOrder', sold_out: 'SoldOut' };

/** The text of a script element of the type `application/ld+json`. `url` is that of the page. */
export function jsonLd(listing: Listing, language: Language, url: string): string {
  const { capacity, city, gallery, latitude, price_from: price, status } = listing;
  const image = gallery.map((photo) => photo.url);
  // Search engines reject a Product without an image or an offer.
  const isProduct = price !== null && image.length > 0;
  const data = {
    '@context': 'https://schema.org',
    '@type': isProduct ? ['Accommodation', 'Product'] : 'Accommodation',
    name: listing.title[language] ?? listing.name,
    description: listing.description[language],
    url,
    image: image.length > 0 ? image : null,
    address: city && { '@type': 'PostalAddress', addressLocality: city },
    geo:
      latitude === null
        ? null
        : { '@type': 'GeoCoordinates', latitude, longitude: listing.longitude },
    numberOfBedrooms: listing.bedrooms,
    occupancy: capacity === null ? null : { '@type': 'QuantitativeValue', maxValue: capacity },
    offers: isProduct
      ? {
          '@type': 'Offer',
          price,
          priceCurrency: CURRENCY,
          availability: `https://schema.org/${AVAILABILITY[status]}`,
        }
      : null,
  };
  // Fields that are null are left out. A `<` in a text must not end the script element.
  return JSON.stringify(data, (_, value) => value ?? undefined).replaceAll('<', '\\u003c');
}
