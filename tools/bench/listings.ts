/** Listings as large as real ones, about 5 KB on the wire, of every type, location and status. */

import type { Location, Source } from '../../src/properties/source.ts';
import { source } from '../import/listing-schemas.ts';

const SLUGS = ['ibiza', 'aran', 'menorca', 'cerdanya'] as const;
const STATUSES = ['listed', 'listed', 'listed', 'coming_soon', 'sold_out'] as const;
const SENTENCE =
  'The terrace opens to the bay, and the kitchen was made new by the village joiner. ';

/** The listing that stands at `index` in the feed's order. */
export function listingAt(index: number): Source {
  return source.parse({
    id: idOf(0, index),
    slug: `home-${index}`,
    name: `Home ${index}`,
    status: STATUSES[index % STATUSES.length],
    type: index % 2 === 0 ? 'beach' : 'ski',
    title: inEachLanguage(`Home ${index} by the sea`),
    description: inEachLanguage(SENTENCE.repeat(10)),
    photos: Array.from({ length: 10 }, (_, photo) => ({
      id: idOf(1 + photo, index),
      url: `https://images.example.com/home-${index}/${photo}.jpg`,
      alt: inEachLanguage(`View ${photo}`),
      section: photo === 0 ? 'hero' : 'gallery',
      web_visible: true,
      web_sort_order: photo,
    })),
    location: locationOf(index),
    amenities: ['pool', 'sauna', 'garden'].map((slug) => ({ slug, label: inEachLanguage(slug) })),
    display_order: index,
  });
}

function locationOf(index: number): Location {
  const number = Math.floor(index / 10) % SLUGS.length;
  const slug = SLUGS[number] ?? null;
  return { id: idOf(20, number), slug, name: inEachLanguage(String(slug)) };
}

function idOf(kind: number, index: number): string {
  const digits = (value: number, length: number) => value.toString(16).padStart(length, '0');
  return `${digits(kind, 8)}-0000-4000-8000-${digits(index, 12)}`;
}

function inEachLanguage(text: string) {
  return { en: text, es: text, fr: text };
}
