/** What an import rejects or tells of the whole catalogue: renamed keys, and what nobody uses any more. */

import { beforeEach, describe, expect, it } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
beforeEach(() => imports.clear());

const homes = [0, 1, 2, 3, 4, 5].map((index) =>
  propertyOf({ slug: `casa-${index}`, name: `Casa ${index}`, hid: `H-${index}` }),
);
/** The homes, of which the first ones have the slugs or hids of the ones after them. */
const shifted = (count: number, key: 'slug' | 'hid') => ({
  properties: homes.map((each, index) => {
    const at = index < count ? (index + 1) % count : index;
    return { ...each, [key]: homes[at]?.[key] };
  }),
});

describe.each(['slug', 'hid'] as const)('a file that changes the %s', (key) => {
  it('of more than a fifth of the public listings is rejected without --many', async () => {
    await imports.load({ properties: homes });
    const rejected = {
      code: 1,
      stdout: '',
      stderr: `the file: would change the slug or hid of 2 of the 6 public listings, more than a fifth. --many imports it\n1 problem. Nothing was changed.\n`,
    };
    expect(await imports.load(shifted(2, key))).toEqual(rejected);
    expect(await imports.load(shifted(2, key), '--patch')).toEqual(rejected);
    expect((await imports.load(shifted(2, key), '--many')).code).toBe(0);
  });

  it('of a fifth of them, or of a single one, is not', async () => {
    const others = [6, 7, 8, 9].map((index) => propertyOf({ slug: `casa-${index}`, name: 'x' }));
    await imports.load({ properties: [...homes, ...others] });
    expect((await imports.load(shifted(2, key))).code).toBe(0);
    imports.clear();
    await imports.load({ properties: homes.slice(0, 1) });
    const renamed = { properties: [{ ...homes[0], [key]: 'new' }] };
    expect((await imports.load(renamed)).code).toBe(0);
  });

  it('of hidden listings, or gives listings their first hid, is not', async () => {
    const hidden = homes.map((each) => ({ ...each, status: 'hidden', hid: null }));
    await imports.load({ properties: hidden });
    expect((await imports.load(shifted(6, key))).code).toBe(0);
  });
});

it('names a location that loses its last listing, with the file that removes it', async () => {
  const locations = ['bay', 'coast'].map((slug) => ({ slug, name: { en: slug } }));
  const [first, second] = homes;
  const at = (location: string) => ({
    properties: [
      { ...first, location },
      { ...second, location: 'bay' },
    ],
  });
  await imports.load({ locations, ...at('coast') });
  const { stdout } = await imports.load(at('bay'));
  const [, remedy = ''] =
    /^No listing has the location coast any more\. This JSON file removes it: (.*)$/m.exec(
      stdout,
    ) ?? [];
  expect((await imports.load(remedy)).stdout).toContain('Removed: location coast\n');
  expect((await imports.load({ properties: [{ ...first, location: null }] })).stdout).not.toContain(
    'any more',
  );
  expect(imports.rows('SELECT slug FROM locations')).toEqual([{ slug: 'bay' }]);
});

it('an export loads into an empty store, also with a hid that two stored listings have', async () => {
  await imports.load({ properties: homes });
  imports.repeatHid('casa-1', 'H-0');
  const exported = await imports.exported();
  imports.clear();
  expect(await imports.load(exported)).toMatchObject({ code: 0, stderr: '' });
  imports.clear();
  expect(await imports.load(exported.replace('H-5', 'H-0'))).toMatchObject({ code: 1 });
});
