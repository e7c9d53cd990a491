/** The drawings that are the photos of the sample listings. */

import { expect, it } from 'vitest';
import { findPhoto } from '../../src/development/sample-photos.ts';
import samples from '../../tools/samples/listings.json' with { type: 'json' };

/** What each drawing shows, in words of its alt texts. */
const SHOWN: Readonly<Record<string, RegExp>> = {
  barn: /^(The front of the house|The timber house|Timber walls)/,
  bedroom: /^(Double bedroom|Bedroom)/,
  boat: /^(Sailing|A sailing boat)/,
  chalet: /chalet|fresh snow|^Snow on/,
  coast: /beach|water|cove|bay/,
  kitchen: /kitchen/i,
  lighthouse: /^The lighthouse/,
  living: /sofa/i,
  lodge: /^(The front of the house|The log house|Log walls)/,
  mountains: /snow/i,
  penthouse: /^The roof terrace/,
  slope: /^A skier|First tracks/,
  'stone-house': /stone|front door|garden/i,
  terrace: /pergola|terrace/,
  townhouse: /house/,
  villa: /house|front door|White walls/,
  windmill: /^A windmill/,
};

const photos: { url: string; alt?: { en?: string; es?: string } }[] = [];
for (const listing of samples.properties) photos.push(...(listing.photos ?? []));

it('the alt text of a sample photo says what its drawing shows', () => {
  const wrong = photos.filter(({ url, alt }) => {
    const [, name = ''] = /\d+-([\w-]+)\.webp$/.exec(url) ?? [];
    return alt?.en !== undefined && !SHOWN[name]?.test(alt.en);
  });
  expect(wrong).toEqual([]);
});

it('every sample photo has a drawing', () => {
  const missing = photos.filter(({ url }) => findPhoto(new URL(url).pathname) === undefined);
  expect(missing).toEqual([]);
});
