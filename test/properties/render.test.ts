import { describe, expect, it } from 'vitest';
import { render } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';
import { sourceOf } from '../support/listings.ts';

const SITE = 'https://site.example.com';

const rendered = (fields: Partial<Source>) => render(sourceOf(fields), SITE);

let made = 0;
function photo(fields: Partial<Source['photos'][number]> = {}): Source['photos'][number] {
  made += 1;
  const id = `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
  return {
    id,
    url: `https://images.example.com/${made}.jpg`,
    alt: { en: `Photo ${made}` },
    section: 'gallery',
    web_visible: true,
    web_sort_order: 0,
    ...fields,
  };
}

function video(fields: Partial<Source['videos'][number]>): Source['videos'][number] {
  const { alt: _alt, section: _section, web_sort_order, ...rest } = photo();
  return { ...rest, type: 'tour', sort_order: web_sort_order, ...fields };
}

describe('a rendered listing', () => {
  it('is null when it is hidden', () => {
    expect(render(sourceOf({ status: 'hidden' }), SITE)).toBeNull();
  });

  it('has a description for each language that has text', () => {
    const blank = { type: 'doc', content: [{ type: 'paragraph' }] };
    expect(rendered({ description: { en: 'Text', es: blank, fr: '  ' } })?.description).toEqual({
      en: 'Text',
    });
  });
});

describe('the hero image', () => {
  const selected = photo({ web_visible: false });
  const last = photo({ section: 'hero', web_sort_order: 5 });
  const first = photo({ section: 'hero', web_sort_order: 2 });
  const twin = photo({ section: 'hero', web_sort_order: 2 });
  const unseen = photo({ section: 'hero', web_sort_order: 1, web_visible: false });

  it.each([
    ['the selected photo, also one that the web does not show', [first, selected], selected],
    ['the first one of section hero, ties broken by id', [last, twin, first, unseen], first],
    ['null without a candidate', [photo(), unseen], undefined],
  ])('is %s', (_name, photos, hero) => {
    const shown = rendered({ photos, hero_photo_id: selected.id })?.hero_image;
    expect(shown).toEqual(hero ? { url: hero.url, alt: hero.alt } : null);
  });
});

describe('the gallery', () => {
  it('has every web-visible photo by sort order, ties broken by id', () => {
    const photos = [
      photo({ web_sort_order: 3, section: 'studio' }),
      photo({ web_sort_order: -1, section: 'hero' }),
      photo({ web_visible: false }),
      photo({ web_sort_order: 3, section: 'other' }),
    ];
    expect(rendered({ photos: photos.toReversed() })?.gallery).toEqual([
      { url: photos[1]?.url, alt: photos[1]?.alt, section: 'hero', sort_order: -1 },
      { url: photos[0]?.url, alt: photos[0]?.alt, section: 'studio', sort_order: 3 },
      { url: photos[3]?.url, alt: photos[3]?.alt, section: 'other', sort_order: 3 },
    ]);
  });
});

describe('the video', () => {
  const tour = video({ sort_order: 1 });
  const early = video({ sort_order: 0 });
  const hero = video({ type: 'hero', sort_order: 9 });
  const twin = video({ type: 'hero', sort_order: 9 });

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
