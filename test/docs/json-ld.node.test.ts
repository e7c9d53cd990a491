/** The JSON-LD of a listing, which docs/examples/json-ld.ts makes. */

import { expect, it } from 'vitest';
import { jsonLd, type Listing as SearchListing } from '../../docs/examples/json-ld.ts';

it('json-ld.ts calls a home a Product only with a price and a photo', () => {
  const home: SearchListing = {
    name: 'Casa <1>',
    status: 'sold_out',
    title: {},
    description: {},
    gallery: [{ url: 'https://photos.example/1.jpg' }],
    city: null,
    latitude: 0,
    longitude: 0,
    bedrooms: null,
    capacity: null,
    price_from: 100,
  };
  const url = 'https://www.example.com/en/listings/casa';
  const dataOf = (change: object) => JSON.parse(jsonLd({ ...home, ...change }, 'en', url));
  const base = {
    '@context': 'https://schema.org',
    '@type': 'Accommodation',
    name: 'Casa <1>',
    url,
    geo: { '@type': 'GeoCoordinates', latitude: 0, longitude: 0 },
  };
  const image = ['https://photos.example/1.jpg'];
  expect(dataOf({})).toEqual({
    ...base,
    '@type': ['Accommodation', 'Product'],
    image,
    offers: {
      '@type': 'Offer',
      price: 100,
      priceCurrency: 'EUR',
      availability: 'https://schema.org/SoldOut',
    },
  });
  expect(dataOf({ price_from: null })).toEqual({ ...base, image });
  expect(dataOf({ gallery: [] })).toEqual(base);
  expect(jsonLd(home, 'en', url)).not.toContain('<');
});
