/**
 * The sample listings have every special case, so that a site's developer meets it in development.
 */

import { describe, expect, it } from 'vitest';
import { property } from '../../../src/properties/openapi/resource.ts';
import { render } from '../../../src/properties/render.ts';
import { sampleSources } from '../../support/samples.ts';

const listings = sampleSources()
  .filter(({ status }) => status !== 'hidden')
  .map((listing) => property.parse(render(listing, 'https://www.example.com')));

/** The fields that no listing lacks. */
const ALWAYS_THERE = ['object', 'id', 'slug', 'name', 'status', 'url', 'display_order'];

describe('the sample listings', () => {
  it.each([[['en']], [['es']], [['en', 'es']], [['en', 'fr']], [['en', 'es', 'fr']], [[]]])(
    'have a title in the languages %j and no other',
    (languages) => {
      const found = listings.filter(({ title }) => `${Object.keys(title)}` === `${languages}`);
      expect(found).not.toEqual([]);
    },
  );

  it.each(Object.keys(property.shape).filter((name) => !ALWAYS_THERE.includes(name)))(
    'have one without %s',
    (name) => {
      const isAbsent = (listing: Record<string, unknown>) =>
        ['null', '{}', '[]', 'false'].includes(JSON.stringify(listing[name]));
      expect(listings.filter(isAbsent)).not.toEqual([]);
    },
  );

  it('have a hidden listing', () => {
    expect(sampleSources().some(({ status }) => status === 'hidden')).toBe(true);
  });
});
