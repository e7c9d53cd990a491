/** A listing for search engines, as JSON-LD. */

type Language = 'en' | 'es' | 'fr';
type Text = Partial<Record<Language, string>>;
export type Listing = {
  slug: string;
  name: string;
  status: 'listed' | 'coming_soon' | 'sold_out';
  title: Text;
  description: Text;
  url: string;
  gallery: { url: string }[];
  city: string | null;
  latitude: number | null;
  longitude: number | null;
  bedrooms: number | null;
  capacity: number | null;
  price_from: number | null;
};

/** The feed names no currency. */
const CURRENCY = 'EUR';
const AVAILABILITY = { listed: 'InStock', coming_soon: 'PreOrder', sold_out: 'SoldOut' };

/** The text of a script element of the type `application/ld+json`. */
export function jsonLd(listing: Listing, language: Language): string {
  const { capacity, latitude, longitude, price_from: price, status } = listing;
  const data = {
    '@context': 'https://schema.org',
    '@type': ['Accommodation', 'Product'],
    name: listing.title[language] ?? listing.name,
    description: listing.description[language],
    url: listing.url,
    image: listing.gallery.map(({ url }) => url),
    address: { '@type': 'PostalAddress', addressLocality: listing.city },
    geo: latitude === null ? null : { '@type': 'GeoCoordinates', latitude, longitude },
    numberOfBedrooms: listing.bedrooms,
    occupancy: capacity === null ? null : { '@type': 'QuantitativeValue', maxValue: capacity },
    offers:
      price === null
        ? null
        : {
            '@type': 'Offer',
            price,
            priceCurrency: CURRENCY,
            availability: `https://schema.org/${AVAILABILITY[status]}`,
          },
  };
  // Fields that are null are left out. A `<` in a text must not end the script element.
  return JSON.stringify(data, (_, value) => value ?? undefined).replaceAll('<', '\\u003c');
}
