/** Tests the drawings that `npm run dev` shows as the photos of the sample listings. */

import { expect, it } from 'vitest';
import { findPhoto } from '../../src/development/sample-photos.ts';
import samples from '../../tools/samples/listings.json' with { type: 'json' };

it('findPhoto finds a drawing for every photo of the sample listings', () => {
  const urls = samples.properties.flatMap(({ photos = [] }) => photos.map(({ url }) => url));
  expect(urls.length).toBeGreaterThan(0);
  expect(urls.filter((url) => findPhoto(new URL(url).pathname) === undefined)).toEqual([]);
});
