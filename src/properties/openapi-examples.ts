/** Examples of the feed: what it answers with the sample listings loaded. */

import type { Property } from './resource.ts';

/** The location of the example. */
export const EXAMPLE_LOCATION_ID = 'e16037e3-44f6-4e6b-8589-6880896284e3';

/** The `next_cursor` of the example's page: it leads to the listings of the location that follow the example. */
export const EXAMPLE_NEXT_CURSOR =
  'jeNPPy7pyLJbMSwicHJvcGVydGllcyIsIntcInN0YXR1c2VzXCI6W1wibGlzdGVkXCJdLFwibG9jYXRpb25JZFwiOlwiZTE2MDM3ZTMtNDRmNi00ZTZiLTg1ODktNjg4MDg5NjI4NGUzXCJ9IixbMjEwLCJiNzE0MTg1OS02NGFlLTQ5ZmQtODdiYy05ZDVhMGEyY2MxOGIiXV0';

/** The listing `sa-domu-rubia`. */
export const EXAMPLE_PROPERTY: Property = {
  object: 'property',
  id: 'b7141859-64ae-49fd-87bc-9d5a0a2cc18b',
  hid: 'H-1129',
  slug: 'sa-domu-rubia',
  name: 'Sa Domu Rubia',
  status: 'listed',
  title: {
    en: 'Red house by the tanneries',
    es: 'La casa roja de las curtidurías',
    fr: 'La maison rouge des tanneries',
  },
  type: 'beach',
  description: {
    en: 'The smell left a century ago; the arches stayed. Two bedrooms above, one vaulted room below that opens on to the quay.\n\nRowers pass at breakfast. Malvasia, the local wine, is poured from four in the afternoon in doorways along the Corso.',
    es: 'El olor se fue hace un siglo; los arcos se quedaron. Dos dormitorios arriba y, abajo, una sala abovedada que se abre al muelle.\n\nLos remeros pasan a la hora del desayuno. La malvasía, el vino de la tierra, se sirve desde las cuatro en los portales del Corso.',
    fr: 'L’odeur est partie il y a un siècle, les arches sont restées. Deux chambres en haut, une salle voûtée en bas, ouverte sur le quai.\n\nLes rameurs passent à l’heure du café. La malvoisie, le vin d’ici, se verse dès seize heures sur les pas de porte du Corso.',
  },
  unique_features: [
    {
      icon_slug: 'historic-building',
      label: {
        en: 'Former tannery, 1840',
        es: 'Antigua curtiduría de 1840',
        fr: 'Ancienne tannerie de 1840',
      },
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
  financial_analysis_url: null,
  hero_image: {
    url: 'https://images.example.com/homes/sa-domu-rubia/01.jpg',
    alt: {
      en: 'The front of the house in late afternoon light, Sa Domu Rubia',
      es: 'La fachada con la luz de media tarde, Sa Domu Rubia',
      fr: 'La façade dans la lumière de fin d’après-midi, Sa Domu Rubia',
    },
  },
  gallery: [
    {
      url: 'https://images.example.com/homes/sa-domu-rubia/01.jpg',
      alt: {
        en: 'The front of the house in late afternoon light, Sa Domu Rubia',
        es: 'La fachada con la luz de media tarde, Sa Domu Rubia',
        fr: 'La façade dans la lumière de fin d’après-midi, Sa Domu Rubia',
      },
      section: 'hero',
      sort_order: 1,
    },
    {
      url: 'https://images.example.com/homes/sa-domu-rubia/02.jpg',
      alt: {
        en: 'Living room with linen sofas, Sa Domu Rubia',
        es: 'Salón con sofás de lino, Sa Domu Rubia',
        fr: 'Salon aux canapés de lin, Sa Domu Rubia',
      },
      section: 'gallery',
      sort_order: 2,
    },
    {
      url: 'https://images.example.com/homes/sa-domu-rubia/04.jpg',
      alt: {
        en: 'Rooftops of the village at dusk',
        es: 'Los tejados del pueblo al anochecer',
        fr: 'Les toits du village à la tombée du jour',
      },
      section: 'location',
      sort_order: 4,
    },
  ],
  video_url: null,
  location: {
    id: 'e16037e3-44f6-4e6b-8589-6880896284e3',
    slug: 'sardinia',
    name: { en: 'Sardinia', es: 'Cerdeña', fr: 'Sardaigne' },
  },
  location_text: {
    en: 'On the river Temo, the only one in Sardinia you can sail up.',
    es: 'A orillas del Temo, el único río navegable de Cerdeña.',
    fr: 'Sur le Temo, seul fleuve navigable de Sardaigne.',
  },
  amenities: [
    { slug: 'wifi', label: { en: 'Wi-Fi', es: 'Wifi', fr: 'Wi-Fi' } },
    {
      slug: 'air-conditioning',
      label: { en: 'Air conditioning', es: 'Aire acondicionado', fr: 'Climatisation' },
    },
    { slug: 'terrace', label: { en: 'Terrace', es: 'Terraza', fr: 'Terrasse' } },
    {
      slug: 'washer-dryer',
      label: { en: 'Washer and dryer', es: 'Lavadora y secadora', fr: 'Lave-linge et sèche-linge' },
    },
    { slug: 'bicycles', label: { en: 'Bicycles', es: 'Bicicletas', fr: 'Vélos' } },
  ],
  url: 'https://www.example.com/listings/sa-domu-rubia',
  display_order: 210,
  is_early_access: false,
};
