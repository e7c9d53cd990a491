/** Examples of the feed: its answers when the sample listings are loaded. */

import type * as z from 'zod';
import { inLanguages } from './locale-map.ts';
import { cardOf, render } from './render.ts';
import { type Property, property, propertyCard } from './resource.ts';
import { source } from './source.ts';

/** The location of the example. */
const locationId = 'e16037e3-44f6-4e6b-8589-6880896284e3';

/** The `next_cursor` of the example's page: it leads to the listings of the location that follow the example. */
const nextCursor =
  'so6BdcrgwQFbMiwicHJvcGVydGllcyIsIjEwOSwyMjUsMTQ0LDIwNywyMzQsMTYzLDE3MCw2MyIsWzIxMCwiYjcxNDE4NTktNjRhZS00OWZkLTg3YmMtOWQ1YTBhMmNjMThiIl1d';

/** The sample listing `sa-domu-rubia`, without the photos that the web does not show. */
const example = source.parse({
  id: 'b7141859-64ae-49fd-87bc-9d5a0a2cc18b',
  hid: 'H-1129',
  slug: 'sa-domu-rubia',
  name: 'Sa Domu Rubia',
  status: 'listed',
  title: textIn(
    'Red house by the tanneries',
    'La casa roja de las curtidurías',
    'La maison rouge des tanneries',
  ),
  type: 'beach',
  description: textIn(
    'The smell left a century ago; the arches stayed. Two bedrooms above, one vaulted room below that opens on to the quay.\n\nRowers pass at breakfast. Malvasia, the local wine, is poured from four in the afternoon in doorways along the Corso.',
    'El olor se fue hace un siglo; los arcos se quedaron. Dos dormitorios arriba y, abajo, una sala abovedada que se abre al muelle.\n\nLos remeros pasan a la hora del desayuno. La malvasía, el vino de la tierra, se sirve desde las cuatro en los portales del Corso.',
    'L’odeur est partie il y a un siècle, les arches sont restées. Deux chambres en haut, une salle voûtée en bas, ouverte sur le quai.\n\nLes rameurs passent à l’heure du café. La malvoisie, le vin d’ici, se verse dès seize heures sur les pas de porte du Corso.',
  ),
  unique_features: [
    {
      icon_slug: 'historic-building',
      label: textIn(
        'Former tannery, 1840',
        'Antigua curtiduría de 1840',
        'Ancienne tannerie de 1840',
      ),
    },
  ],
  bedrooms: 2,
  beds: 3,
  bathrooms: 2,
  bathtubs: 0,
  capacity: 4,
  size: 104,
  address: 'Via delle Concerie 27',
  city: 'Bosa',
  latitude: 40.2972,
  longitude: 8.4983,
  price_from: 118000,
  fraction_from: '1/8',
  weeks_per_year: 6,
  photos: [
    photo(
      1,
      'hero',
      'The front of the house in late afternoon light, Sa Domu Rubia',
      'La fachada con la luz de media tarde, Sa Domu Rubia',
      'La façade dans la lumière de fin d’après-midi, Sa Domu Rubia',
    ),
    photo(
      2,
      'gallery',
      'Living room with linen sofas, Sa Domu Rubia',
      'Salón con sofás de lino, Sa Domu Rubia',
      'Salon aux canapés de lin, Sa Domu Rubia',
    ),
    photo(
      4,
      'location',
      'Rooftops of the village at dusk',
      'Los tejados del pueblo al anochecer',
      'Les toits du village à la tombée du jour',
    ),
  ],
  location: {
    id: locationId,
    slug: 'sardinia',
    name: textIn('Sardinia', 'Cerdeña', 'Sardaigne'),
  },
  location_text: textIn(
    'On the river Temo, the only one in Sardinia you can sail up.',
    'A orillas del Temo, el único río navegable de Cerdeña.',
    'Sur le Temo, seul fleuve navigable de Sardaigne.',
  ),
  amenities: [
    { slug: 'wifi', label: textIn('Wi-Fi', 'Wifi', 'Wi-Fi') },
    {
      slug: 'air-conditioning',
      label: textIn('Air conditioning', 'Aire acondicionado', 'Climatisation'),
    },
    { slug: 'terrace', label: textIn('Terrace', 'Terraza', 'Terrasse') },
    {
      slug: 'washer-dryer',
      label: textIn('Washer and dryer', 'Lavadora y secadora', 'Lave-linge et sèche-linge'),
    },
    { slug: 'bicycles', label: textIn('Bicycles', 'Bicicletas', 'Vélos') },
  ],
  display_order: 210,
});

/** The example as the feed sends it. */
const listing: Property = property.parse(render(example, 'https://www.example.com'));

/** The second page of cards with `location=sardinia&limit=1&locale=en`. */
const cards = {
  object: 'list',
  data: [inEnglish(propertyCard, cardOf(listing))],
  has_more: true,
  next_cursor:
    'XfKVkRNI9ShbMiwicHJvcGVydHktY2FyZHMiLCIxNjQsMTM5LDU2LDIxLDIzMyw3MCwxODcsMTI4IixbMjEwLCJiNzE0MTg1OS02NGFlLTQ5ZmQtODdiYy05ZDVhMGEyY2MxOGIiXV0',
};

/** A page of changes with `locale=en`: the example has changed, another listing was hidden. */
const changes = {
  object: 'list',
  data: [
    {
      object: 'property_change',
      id: listing.id,
      slug: listing.slug,
      former_slugs: ['casa-rossa'],
      change: 'published',
      changed_at: '2027-01-15T09:30:00.000Z',
      property: inEnglish(property, listing),
    },
    {
      object: 'property_change',
      id: '38e41363-4d59-46f1-9e09-b6848ac0a8df',
      slug: 'casa-ginebrera',
      former_slugs: [],
      change: 'removed',
      changed_at: '2027-01-15T09:30:00.000Z',
      property: null,
    },
  ],
  has_more: false,
  next_cursor: null,
  resume_cursor:
    '49NvB1dVXelbMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMl1d',
};

const CURSOR_TO_THE_REMOVAL =
  '8kc9PO-B7RtbMiwicHJvcGVydHktY2hhbmdlcyIsIiIsWyI1ZDFmMGMyYTliN2U0YzZkOGEzYjFmMGUyZDRjNmI4YSIsMV1d';

/** The first page of the same changes with `limit=1`. */
const firstChanges = {
  ...changes,
  data: changes.data.slice(0, 1),
  has_more: true,
  next_cursor: CURSOR_TO_THE_REMOVAL,
  resume_cursor: CURSOR_TO_THE_REMOVAL,
};

/** The first page of locations with `limit=2&locale=en`. */
const locations = {
  object: 'list',
  data: [
    {
      object: 'location',
      id: '5cfdd799-2a3e-44bd-bacd-06607d7cb24e',
      slug: 'algarve',
      name: { en: 'Algarve' },
    },
    {
      object: 'location',
      id: '35e285d1-6c38-4d2d-a746-8434bb953390',
      slug: 'colorado',
      name: { en: 'Colorado Rockies' },
    },
  ],
  has_more: true,
  next_cursor:
    '9lyGHX5mH05bMiwibG9jYXRpb25zIiwiIixbImNvbG9yYWRvIiwiMzVlMjg1ZDEtNmMzOC00ZDJkLWE3NDYtODQzNGJiOTUzMzkwIl1d',
};

/** The last page of the same locations. */
const lastLocations = {
  object: 'list',
  data: [
    {
      object: 'location',
      id: '003a3e7a-b322-491f-82e1-5dbf1fb2eda8',
      slug: null,
      name: { en: 'Val d’Aran' },
    },
  ],
  has_more: false,
  next_cursor: null,
};

/** Returns a resource as `locale=en` gives it. */
function inEnglish(schema: z.ZodObject, resource: object): unknown {
  return JSON.parse(inLanguages(schema, JSON.stringify(resource), ['en']));
}

function textIn(en: string, es: string, fr: string) {
  return { en, es, fr };
}

function photo(number: number, section: string, ...alt: Parameters<typeof textIn>) {
  return {
    id: `00000000-0000-4000-8000-00000000000${number}`,
    url: `https://images.example.com/homes/sa-domu-rubia/0${number}.jpg`,
    alt: textIn(...alt),
    section,
    web_visible: true,
    web_sort_order: number,
  };
}

/** The examples: ids, cursors and resources. */
export const EXAMPLES = {
  locationId,
  nextCursor,
  listing,
  cards,
  changes,
  firstChanges,
  locations,
  lastLocations,
};
