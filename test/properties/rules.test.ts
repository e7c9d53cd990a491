/**
 * The rules that render a listing. `rules/N.json` contains the resources that version N of the rules
 * renders from the listings in this file. Stored documents are rendered again only if the version
 * changes.
 */

import { describe, expect, it } from 'vitest';
import { type Property, property, propertyCard } from '../../src/properties/openapi/property.ts';
import { RULES_VERSION, render, toCard } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';
import { source } from '../support/listings.ts';

const SITE = 'https://site.example.com';

/** A listing with only its required fields. */
const bare: Source = source.parse({
  id: '00000000-0000-4000-8000-000000000001',
  slug: 'bare',
  name: 'Bare',
  status: 'listed',
  display_order: -1,
  location: null,
  amenities: [],
});

const paragraph = (...content: object[]) => ({ type: 'paragraph', content });
const textNode = (text: string) => ({ type: 'text', text });

/** A listing with a value in every field. */
const full: Source = source.parse({
  id: '00000000-0000-4000-8000-000000000002',
  hid: 'H-1',
  slug: 'full',
  name: 'Full',
  status: 'sold_out',
  title: { fr: 'Titre', en: 'Title', es: ' ' },
  type: 'ski',
  description: {
    en: {
      type: 'doc',
      content: [
        { type: 'heading', attrs: { level: 2 }, content: [textNode('Heading')] },
        paragraph(textNode('One '), { ...textNode('bold'), marks: [{ type: 'bold' }] }),
        paragraph(),
        {
          type: 'bulletList',
          content: [{ type: 'listItem', content: [paragraph(textNode('Item'))] }],
        },
        {
          type: 'blockquote',
          content: [paragraph(textNode('a'), { type: 'hardBreak' }, textNode('b'))],
        },
        paragraph(
          { type: 'hardBreak' },
          textNode('c\r\n \n'),
          { type: 'hardBreak' },
          textNode('d\n'),
        ),
      ],
    },
    es: '\nTexto\r\n\r \nllano ',
    fr: ' ',
  },
  unique_features: [{ icon_slug: 'sea', label: { en: 'Sea', fr: '' } }],
  bedrooms: 1,
  beds: 2,
  bathrooms: 3,
  bathtubs: 4,
  capacity: 5,
  size: 6.5,
  address: 'Street 1',
  city: 'City',
  latitude: -1.5,
  longitude: 2.5,
  price_from: 7,
  fraction_from: '1/8',
  weeks_per_year: 8,
  financial_analysis_url: 'https://docs.example.com/full.pdf',
  hero_photo_id: '00000000-0000-4000-8000-000000000011',
  photos: [
    photo(1, { section: 'studio', web_visible: false }),
    photo(3, { section: 'hero', web_sort_order: 1 }),
    photo(2, { section: 'other', web_sort_order: 1 }),
    photo(4, { section: 'location', web_sort_order: -1, alt: {} }),
  ],
  videos: [video(1, 'tour', 3), video(4, 'drone', 0), video(3, 'hero', 2), video(2, 'hero', 2)],
  location: {
    id: '00000000-0000-4000-8000-000000000031',
    slug: null,
    name: { en: 'Place', es: 'Lugar' },
  },
  location_text: { es: 'Texto' },
  amenities: [
    { slug: 'wifi', label: { en: 'Wi-Fi' } },
    { slug: 'bath', label: {} },
  ],
  display_order: 9,
  is_early_access: true,
});

type Photo = Source['photos'][number];
type Video = Source['videos'][number];

function photo(number: number, fields: Partial<Photo> = {}): Photo {
  const id = `00000000-0000-4000-8000-00000000001${number}`;
  const url = `https://images.example.com/${number}.jpg`;
  const alt = { es: `Foto ${number}` };
  return { id, url, alt, section: 'gallery', web_visible: true, web_sort_order: 0, ...fields };
}

function video(number: number, type: Video['type'], sort_order: number): Video {
  const id = `00000000-0000-4000-8000-00000000002${number}`;
  const url = `https://videos.example.com/${number}.mp4`;
  return { id, url, type, web_visible: true, sort_order };
}

const toHeroImage = ({ url, alt }: Photo) => ({ hero_image: { url, alt } });
const toGalleryPhoto = ({ url, alt, section }: Photo, sort_order: number) =>
  ({ url, alt, section, sort_order }) as const;

const hiddenPhoto = photo(1, { section: 'hero', web_sort_order: -5, web_visible: false });
const last = photo(2, { section: 'hero', web_sort_order: 5 });
const first = photo(3, { section: 'hero', web_sort_order: 2 });
const twin = photo(4, { section: 'hero', web_sort_order: 2 });
const early = photo(5, { section: 'studio', web_sort_order: -1 });

const tour = video(1, 'tour', 1);
const earlyTour = video(2, 'tour', 0);
const hero = video(3, 'hero', 9);
const twinHero = video(4, 'hero', 9);

/** Rendering rules, each with fields of a stored listing and the fields that the API returns for them. */
const RULES: readonly [rule: string, fields: Partial<Source>, wire: Partial<Property> | null][] = [
  ['nothing while it is hidden', { status: 'hidden' }, null],
  [
    'a description for each language that has text',
    {
      description: { en: 'Text', es: { type: 'doc', content: [{ type: 'paragraph' }] }, fr: '  ' },
    },
    { description: { en: 'Text' } },
  ],
  [
    'the selected photo as hero, even if the web does not show it',
    { photos: [first, hiddenPhoto], hero_photo_id: hiddenPhoto.id },
    toHeroImage(hiddenPhoto),
  ],
  [
    'the first photo of section hero if none is selected, ties broken by id',
    { photos: [last, twin, first, hiddenPhoto] },
    toHeroImage(first),
  ],
  ['no hero image without a candidate', { photos: [hiddenPhoto, early] }, { hero_image: null }],
  [
    'every web-visible photo in its gallery by sort order, ties broken by id',
    { photos: [twin, last, hiddenPhoto, first, early] },
    {
      gallery: [
        toGalleryPhoto(early, -1),
        toGalleryPhoto(first, 2),
        toGalleryPhoto(twin, 2),
        toGalleryPhoto(last, 5),
      ],
    },
  ],
  ['the hero video', { videos: [tour, hero, earlyTour] }, { video_url: hero.url }],
  [
    'the first hero video by sort order, then id',
    { videos: [twinHero, hero, video(1, 'hero', 10)] },
    { video_url: hero.url },
  ],
  [
    'the video with the lowest sort order if there is no hero video',
    { videos: [tour, earlyTour] },
    { video_url: earlyTour.url },
  ],
  [
    'no video that the web does not show',
    { videos: [{ ...hero, web_visible: false }, tour] },
    { video_url: tour.url },
  ],
  ['no video without videos', { videos: [] }, { video_url: null }],
];

describe('a rendered listing', () => {
  it.each(RULES)('shows %s', (_rule, fields, wire) => {
    const resource = render({ ...bare, ...fields }, SITE);
    expect(resource).toEqual(wire && expect.objectContaining(wire));
  });

  const resource = render(full, SITE);
  const card = resource && toCard(resource);

  const STORED = import.meta.glob<string>('./rules/*.json', {
    eager: true,
    query: '?raw',
    import: 'default',
  });

  it('matches the snapshot of its rules version', async () => {
    const otherResources = RULES.map(([rule, , wire]) => [rule, wire]);
    const resources = {
      bare: render(bare, SITE),
      full: resource,
      card,
      ...Object.fromEntries(otherResources),
    };
    const text = `${JSON.stringify(resources, null, 2)}\n`;
    const path = `./rules/${RULES_VERSION}.json`;
    // Vitest creates the file for a new version.
    if (STORED[path] === undefined) await expect(text).toMatchFileSnapshot(path);
    expect(
      text,
      `The rules have changed. Set RULES_VERSION = ${RULES_VERSION + 1} in src/properties/render.ts.
Run this test again, which writes rules/${RULES_VERSION + 1}.json, and delete rules/${RULES_VERSION}.json.`,
    ).toBe(STORED[path] ?? text);
    const files = Object.keys({ ...STORED, [path]: text });
    expect(files, 'Delete the files of earlier versions.').toEqual([path]);
  });

  it.each([
    ['resource', resource, property],
    ['card', card, propertyCard],
  ])('has the fields of a %s in schema order', (_name, wire, { shape }) => {
    expect(Object.keys(wire ?? {})).toEqual(Object.keys(shape));
  });
});
