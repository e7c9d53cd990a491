/** A listing for search engines, as JSON-LD. */

import { type Home, share } from './home-html.ts';
import { CURRENCY, type Language } from './words.ts';

const AVAILABILITY: Readonly<Record<string, string>> = {
  listed: 'https://schema.org/InStock',
  coming_soon: 'https://schema.org/PreOrder',
  sold_out: 'https://schema.org/SoldOut',
};

/** The text of a script element of the type `application/ld+json`. `url` is that of the page. */
export function jsonLd(home: Home, language: Language, url: string): string {
  const { address, capacity, city, gallery, latitude, price_from: price } = home;
  const image = gallery.map((photo) => photo.url);
  // Search engines reject a Product without an image or an offer.
  const isProduct = price !== null && image.length > 0;
  const data = {
    '@context': 'https://schema.org',
    '@type': isProduct ? ['Accommodation', 'Product'] : 'Accommodation',
    name: home.title[language] ?? home.name,
    description: home.description[language],
    url,
    image: image.length > 0 ? image : null,
    address: city && {
      '@type': 'PostalAddress',
      streetAddress: address,
      addressLocality: city,
    },
    geo:
      latitude === null ? null : { '@type': 'GeoCoordinates', latitude, longitude: home.longitude },
    numberOfBedrooms: home.bedrooms,
    occupancy: capacity === null ? null : { '@type': 'QuantitativeValue', maxValue: capacity },
    offers: isProduct
      ? {
          '@type': 'Offer',
          // The price is that of a share.
          name: share(home, language) || null,
          price,
          priceCurrency: CURRENCY,
          availability: AVAILABILITY[home.status],
        }
      : null,
  };
  // Fields that are null are left out. A `<` in a text must not end the script element.
  return JSON.stringify(data, (_, value) => value ?? undefined).replaceAll('<', '\\u003c');
}
