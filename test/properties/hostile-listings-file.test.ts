/** Hostile listings files: texts stay texts, links stay links, and no other field is stored. */

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { render } from '../../src/properties/render.ts';
import { property } from '../../src/properties/resource.ts';
import { readListingsFile } from '../../tools/import/file.ts';
import { hostileText, NAUGHTY, runs } from '../support/hostile.ts';
import { sourceOf } from '../support/listings.ts';

vi.setConfig({ testTimeout: 60_000 });

const home = {
  id: '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42',
  slug: 'home',
  name: 'Home',
  status: 'listed',
  display_order: 1,
};

function read(content: unknown) {
  return readListingsFile(new TextEncoder().encode(JSON.stringify(content)));
}

describe('a listings file', () => {
  it('of any JSON is read or refused without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        for (const content of [
          value,
          { properties: [value] },
          { properties: [{ ...home, description: { en: value } }] },
        ]) {
          expect(['read', 'unreadable']).toContain(read(content).kind);
        }
      }),
      runs(300),
    );
  });

  it('of any bytes is read or refused without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(['read', 'unreadable']).toContain(readListingsFile(new Uint8Array(bytes)).kind);
      }),
      runs(300),
    );
  });

  it('keeps every naughty string unchanged, from the file to the feed', () => {
    for (const text of NAUGHTY.filter((each) => each.trim() !== '')) {
      const content = { ...home, name: text, title: { en: text }, description: { fr: text } };
      const { problems } = read({ properties: [content] });
      expect(problems).toEqual([]);
      const { id, slug, name, title, description } = content;
      const document = render(
        sourceOf({ id, slug, name, title, description }),
        'https://a.example',
      );
      expect(property.parse(JSON.parse(JSON.stringify(document)))).toMatchObject({
        name,
        title,
        description,
      });
    }
  });

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:1',
    'data:text/html,x',
    'file:///etc/passwd',
    '//evil.example/a',
    '/a.jpg',
    'ftp://a.example/a',
    'https://',
    'java\nscript:1',
  ])('is refused with the address %j', (url) => {
    const photo = { id: home.id, url, section: 'hero', web_visible: true, web_sort_order: 1 };
    const video = { id: home.id, url, type: 'hero', web_visible: true, sort_order: 1 };
    for (const fields of [
      { photos: [photo] },
      { videos: [video] },
      { financial_analysis_url: url },
    ]) {
      expect(read({ properties: [{ ...home, ...fields }] }).problems).toHaveLength(1);
    }
  });

  it('is refused with a slug that is a path, markup or an id', () => {
    fc.assert(
      fc.property(hostileText, (slug) => {
        const { problems } = read({ properties: [{ ...home, slug }] });
        expect(problems.length === 0).toBe(
          /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/.test(slug) && slug.length <= 200,
        );
      }),
      runs(300),
    );
  });

  it('is refused with unknown fields, __proto__ and constructor included', () => {
    for (const name of ['__proto__', 'constructor', 'document', 'rendering', 'toString']) {
      const content = JSON.stringify({ properties: [home] }).replace(
        '"slug"',
        `"${name}":{"status":"listed"},"slug"`,
      );
      expect(readListingsFile(new TextEncoder().encode(content)).problems).toHaveLength(1);
    }
  });
});
