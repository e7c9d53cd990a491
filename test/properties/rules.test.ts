/**
 * The field rules. `rules/N.json` has what version N makes of the listings here: stored documents are
 * rendered again only when the version moves.
 */

import { describe, expect, it } from 'vitest';
import { property, propertyCard } from '../../src/properties/property.ts';
import { RULES, render, toCard } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';
import { source, sourceOf } from '../support/listings.ts';

const SITE = 'https://site.example.com';

/** A listing with its required fields only. */
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
const words = (text: string) => ({ type: 'text', text });

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
        { type: 'heading', attrs: { level: 2 }, content: [words('Heading')] },
        paragraph(words('One '), { ...words('bold'), marks: [{ type: 'bold' }] }),
        paragraph(),
        {
          type: 'bulletList',
          content: [{ type: 'listItem', content: [paragraph(words('Item'))] }],
        },
        { type: 'blockquote', content: [paragraph(words('a'), { type: 'hardBreak' }, words('b'))] },
        paragraph({ type: 'hardBreak' }, words('c\r\n \n'), { type: 'hardBreak' }, words('d\n')),
      ],
    },
    es: 'Texto\r\n\rllano',
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

/** The other rules: each way to choose a hero image and a video, each status, each absence. */
const variants: Record<string, Partial<Source>> = {
  'full, hidden': { status: 'hidden' },
  'full, coming soon, without a chosen hero': {
    status: 'coming_soon',
    hero_photo_id: null,
    location_text: {},
  },
  'full, with a photo that is not on the web': {
    hero_photo_id: null,
    photos: full.photos.slice(0, 1),
  },
  'full, with two videos': { status: 'listed', videos: full.videos.slice(0, 2) },
  'full, without a video on the web': {
    videos: full.videos.map((each) => ({ ...each, web_visible: false })),
  },
};

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

/** Returns the fields in which the listing is rendered otherwise than `full`. */
function differences(fields: Partial<Source>) {
  const shown = render({ ...full, ...fields }, SITE);
  const usual = new Map(Object.entries(render(full, SITE) ?? {}));
  const isOther = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(usual.get(name));
  return shown && Object.fromEntries(Object.entries(shown).filter(isOther));
}

const resource = render(full, SITE);
const card = resource && toCard(resource);

const STORED = import.meta.glob<string>('./rules/*.json', {
  eager: true,
  query: '?raw',
  import: 'default',
});

it('the rules make the stored resources of their version', async () => {
  const others = Object.entries(variants).map(([name, fields]) => [name, differences(fields)]);
  const made = { bare: render(bare, SITE), full: resource, card, ...Object.fromEntries(others) };
  const text = `${JSON.stringify(made, null, 2)}\n`;
  const path = `./rules/${RULES.version}.json`;
  // Vitest writes the file of a new version.
  if (STORED[path] === undefined) await expect(text).toMatchFileSnapshot(path);
  expect(
    text,
    `A listing is rendered otherwise than before. In src/properties/render.ts write version: ${RULES.version + 1},
run this test again, which writes rules/${RULES.version + 1}.json, and delete rules/${RULES.version}.json`,
  ).toBe(STORED[path] ?? text);
  const files = Object.keys({ ...STORED, [path]: text });
  expect(files, 'Delete the files of earlier versions').toEqual([path]);
});

it.each([
  ['resource', resource, property],
  ['card', card, propertyCard],
])('a %s has its fields in the order of its schema', (_name, made, { shape }) => {
  expect(Object.keys(made ?? {})).toEqual(Object.keys(shape));
});

const rendered = (fields: Partial<Source>) => render(sourceOf(fields), SITE);

describe('a rendered listing', () => {
  it('is null when it is hidden', () => {
    expect(rendered({ status: 'hidden' })).toBeNull();
  });

  it('has a description for each language that has text', () => {
    const blank = { type: 'doc', content: [{ type: 'paragraph' }] };
    expect(rendered({ description: { en: 'Text', es: blank, fr: '  ' } })?.description).toEqual({
      en: 'Text',
    });
  });
});

describe('the hero image', () => {
  const selected = photo(1, { web_visible: false });
  const last = photo(2, { section: 'hero', web_sort_order: 5 });
  const first = photo(3, { section: 'hero', web_sort_order: 2 });
  const twin = photo(4, { section: 'hero', web_sort_order: 2 });
  const unseen = photo(5, { section: 'hero', web_sort_order: 1, web_visible: false });

  it.each([
    ['the selected photo, also one that the web does not show', [first, selected], selected],
    ['the first one of section hero, ties broken by id', [last, twin, first, unseen], first],
    ['null without a candidate', [photo(6), unseen], undefined],
  ])('is %s', (_name, photos, hero) => {
    const shown = rendered({ photos, hero_photo_id: selected.id })?.hero_image;
    expect(shown).toEqual(hero ? { url: hero.url, alt: hero.alt } : null);
  });
});

it('the gallery has every web-visible photo by sort order, ties broken by id', () => {
  const photos = [
    photo(1, { web_sort_order: 3, section: 'studio' }),
    photo(2, { web_sort_order: -1, section: 'hero' }),
    photo(3, { web_visible: false }),
    photo(4, { web_sort_order: 3, section: 'other' }),
  ];
  expect(rendered({ photos: photos.toReversed() })?.gallery).toEqual([
    { url: photos[1]?.url, alt: photos[1]?.alt, section: 'hero', sort_order: -1 },
    { url: photos[0]?.url, alt: photos[0]?.alt, section: 'studio', sort_order: 3 },
    { url: photos[3]?.url, alt: photos[3]?.alt, section: 'other', sort_order: 3 },
  ]);
});

describe('the video', () => {
  const tour = video(1, 'tour', 1);
  const early = video(2, 'tour', 0);
  const hero = video(3, 'hero', 9);
  const twin = video(4, 'hero', 9);

  it.each([
    ['the hero one', [tour, hero, early], hero.url],
    ['the first hero one by sort order, then id', [twin, hero], hero.url],
    ['the one of lowest sort order without a hero', [tour, early], early.url],
    ['none that the web does not show', [{ ...hero, web_visible: false }, tour], tour.url],
    ['null when there is none', [], null],
  ])('is %s', (_name, videos, expected) => {
    expect(rendered({ videos })?.video_url).toBe(expected);
  });
});
