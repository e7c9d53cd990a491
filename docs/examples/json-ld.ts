/** Describes a listing to search engines in JSON-LD. */

import { type Listing, share } from './listing-html.ts';
import { CURRENCY, type Language } from './translations.ts';

const AVAILABILITY: Readonly<Record<string, string>> = {
  listed: 'https://schema.org/InStock',
  coming_soon: 'https://schema.org/PreOrder',
  sold_out: 'https://schema.org/SoldOut',
};

/**
 * Returns the content of a script element of type `application/ld+json`. `url` is the URL of the
 * listing's page.
 */
export function jsonLd(listing: Listing, language: Language, url: string): string {
  const { address, capacity, city, gallery, latitude, price_from: price } = listing;
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
    address: city && {
      '@type': 'PostalAddress',
      streetAddress: address,
      addressLocality: city,
    },
    geo:
      latitude === null
        ? null
        : { '@type': 'GeoCoordinates', latitude, longitude: listing.longitude },
    numberOfBedrooms: listing.bedrooms,
    occupancy: capacity === null ? null : { '@type': 'QuantitativeValue', maxValue: capacity },
    offers: isProduct
      ? {
          '@type': 'Offer',
          // The price is for a share, not for the whole house.
          name: share(listing, language) || null,
          price,
          priceCurrency: CURRENCY,
          availability: AVAILABILITY[listing.status],
        }
      : null,
  };
  // Leaves out fields that are null. Escapes `<`, so that no text can end the script element.
  return JSON.stringify(data, (_, value) => value ?? undefined).replaceAll('<', '\\u003c');
}
