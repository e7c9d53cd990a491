/** An editor's work on the whole catalogue: dry runs, exports, and emptied fields. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { exportListings } from '../../../tools/import/export.ts';
import { readListingsFile } from '../../../tools/import/file.ts';
import { importListings } from '../../../tools/import/import.ts';
import { codeBlocksOf } from '../../docs/markdown.ts';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';

const SAMPLES = readFileSync('tools/samples/listings.json', 'utf8');
const catalogue = z.object({
  locations: z.array(
    z.looseObject({ slug: z.string().nullable(), name: z.record(z.string(), z.string()) }),
  ),
  amenities: z.array(z.looseObject({ slug: z.string(), label: z.record(z.string(), z.string()) })),
  properties: z.array(
    z.looseObject({
      slug: z.string(),
      status: z.string(),
      title: z.record(z.string(), z.string()).default({}),
      price_from: z.number().nullable().optional(),
      photos: z.array(z.unknown()).default([]),
    }),
  ),
});

let imports: MemoryImports;
beforeAll(async () => {
  imports = openMemoryImports();
  expect(await imports.load(SAMPLES)).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => imports.close());

async function exported(): Promise<string> {
  let text = '';
  for await (const piece of exportListings(imports.database, () => undefined)) text += piece;
  return text;
}

const rows = async () =>
  (await imports.database.prepare('SELECT * FROM properties ORDER BY id').all()).results;

/** The samples with changes, and a home of theirs that is public. */
function changed(
  change: (
    file: z.infer<typeof catalogue>,
    home: z.infer<typeof catalogue>['properties'][number],
  ) => void,
) {
  const file = catalogue.parse(JSON.parse(SAMPLES));
  const home = file.properties.find(({ slug }) => slug === 'casa-ginebrera');
  if (home === undefined) throw new Error('the samples have no casa-ginebrera');
  change(file, home);
  return file;
}

describe('export-listings', () => {
  it('writes locations and amenities, also of an empty catalogue', async () => {
    const { locations, amenities } = catalogue.parse(JSON.parse(await exported()));
    expect(locations.map(({ slug }) => slug)).toContain('mallorca');
    expect(amenities.find(({ slug }) => slug === 'wifi')?.label).toMatchObject({ es: 'Wifi' });
    const empty = openMemoryImports();
    let text = '';
    for await (const piece of exportListings(empty.database, () => undefined)) text += piece;
    empty.close();
    expect(JSON.parse(text)).toEqual({ locations: [], amenities: [], properties: [] });
  });
});

describe('a dry run', () => {
  it('names each listing that would change with its fields, old and new', async () => {
    const before = await rows();
    const stored = await imports.stored('casa-ginebrera');
    const dry = await imports.load(
      changed((file, home) => {
        home.price_from = 121000;
        delete home.title.fr;
        home.photos.splice(-3);
        home.name = `${home.name} ${'x'.repeat(200)}`;
        file.properties.push({ ...home, slug: 'new-home', id: undefined, hid: null });
      }),
      '--dry-run',
    );
    expect(dry.code).toBe(0);
    const line = dry.stdout.split('\n').find((each) => each.startsWith('casa-ginebrera: '));
    expect(line).toContain(`; title.fr removed; `);
    expect(line).toContain(`; price_from ${stored?.price_from} → 121000; `);
    expect(line).toMatch(/; 3 photos removed$/);
    expect(line).toMatch(/^casa-ginebrera: name ".{1,60}" → ".{1,70}x…";/);
    expect(dry.stdout).toContain('\nNew: new-home\n');
    expect(dry.stdout).toContain('72 listings: 1 added, 1 changed, 70 unchanged');
    expect(dry.stderr).toBe('Warning: would empty title.fr of 1 listing: casa-ginebrera\n');
    expect(await rows()).toEqual(before);
  });

  it('sends the database no statement that writes', async () => {
    const statements: string[] = [];
    const database = new Proxy(imports.database, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) => {
          if (name === 'prepare') statements.push(String(values[0]));
          return Reflect.apply(value, target, values);
        };
      },
    });
    const file = changed((_, home) => {
      home.price_from = 1;
    });
    const read = readListingsFile(Buffer.from(JSON.stringify(file)));
    if (read.kind !== 'read') throw new Error('the samples cannot be read');
    const outcome = await importListings(read, {
      database,
      publicSiteUrl: 'https://www.example.com',
      isDryRun: true,
      pruning: 'none',
      onProgress: () => undefined,
    });
    expect(outcome).toMatchObject({ kind: 'accepted' });
    expect(statements.length).toBeGreaterThan(0);
    const writing = statements.filter((text) => /\b(insert|update|delete) /i.test(text));
    expect(writing).toEqual([]);
  });

  it('names the changes that reach listings outside the file, and the listings that --prune hides', async () => {
    const { locations, properties } = catalogue.parse(JSON.parse(SAMPLES));
    const isElsewhere = ({ location_id }: Record<string, unknown>) =>
      location_id !== locations[0]?.id;
    const renamed = locations
      .slice(0, 1)
      .map((each) => ({ ...each, name: { ...each.name, en: 'New name' } }));
    const outside = await imports.load({ locations: renamed, properties: [] }, '--dry-run');
    expect(outside.stdout).toContain('location mallorca: name.en "Mallorca" → "New name"');
    const [, lines = ''] = outside.stdout.split(
      'Outside the file, because their location or amenities change:\n',
    );
    const users = properties.filter((each) => !isElsewhere(each));
    expect(users.length).toBeGreaterThan(1);
    for (const { slug } of users) {
      expect(lines).toContain(`${slug}: location.name.en "Mallorca" → "New name"\n`);
    }
    const [first, ...rest] = properties.filter(({ status }) => status === 'listed');
    const others = properties.filter(({ status }) => status !== 'listed');
    const pruned = await imports.load({ properties: [...rest, ...others] }, '--dry-run', '--prune');
    expect(pruned.stdout).toContain(
      `Hidden, because the file does not name them:\n${first?.slug}: status "listed" → "hidden"\n`,
    );
  });
});

describe('an import that empties fields', () => {
  const english = () =>
    changed((file) => {
      file.amenities = file.amenities.map((each) => ({
        ...each,
        label: { en: each.label.en ?? '' },
      }));
    });

  it('is refused for more than a fifth of the public listings, with their number', async () => {
    const before = await rows();
    for (const options of [[], ['--dry-run']]) {
      const refused = await imports.load(english(), ...options);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(
        /^Warning: would empty amenities\.label\.es of \d+ listings: /m,
      );
      expect(refused.stderr).toMatch(
        /^the file: would empty something of \d+ of the 66 public listings, more than a fifth: --patch keeps what a file leaves out, and --allow-emptied empties it$/m,
      );
      expect(await rows()).toEqual(before);
    }
  });

  it('names them in the real run too, and empties them with --allow-emptied', async () => {
    const text = await exported();
    const done = await imports.load(english(), '--allow-emptied');
    expect(done.code).toBe(0);
    expect(done.stderr).toMatch(/^Warning: emptied amenities\.label\.fr of \d+ listings: /m);
    await imports.load(text);
    const one = await imports.load(
      changed((_, home) => {
        home.photos = [];
        Object.assign(home, { hero_photo_id: null });
      }),
    );
    expect(one.stderr).toContain('Warning: emptied photos of 1 listing: casa-ginebrera\n');
    await imports.load(text);
    const gallery = await imports.load(
      changed((_, home) => {
        home.photos = home.photos.map((photo) => Object.assign({}, photo, { web_visible: false }));
      }),
    );
    expect(gallery.stderr).toBe('Warning: emptied gallery of 1 listing: casa-ginebrera\n');
    await imports.load(text);
    expect(await exported()).toBe(text);
  });
});

describe('quality', () => {
  it('is reported with counts, and refuses nothing', async () => {
    const photo = {
      url: 'https://a.example/1.jpg',
      section: 'hero',
      web_visible: true,
      web_sort_order: 1,
    };
    const video = { type: 'hero', web_visible: true, sort_order: 1 };
    const home = (slug: string, fields: object) => ({
      slug,
      name: 'Home',
      status: 'listed',
      display_order: 1,
      ...fields,
    });
    const title = { en: 'House' };
    const whole = { title, location: 'mallorca', photos: [{ ...photo, alt: { en: 'A view' } }] };
    const done = await imports.load({
      properties: [
        home('with-tags', { ...whole, description: { en: 'A <b>large</b> house' } }),
        home('with-comparison', { ...whole, description: { en: 'a < b and c > d' } }),
        home('bare', {}),
        home('bare-and-hidden', { status: 'hidden' }),
        home('no-alt', { ...whole, photos: [photo] }),
        home('page', {
          ...whole,
          videos: [
            { ...video, url: 'https://www.youtube.com/watch?v=1' },
            { ...video, url: 'https://vimeo.com/1' },
          ],
        }),
        home('film', {
          ...whole,
          videos: [{ ...video, url: 'https://player.vimeo.com/external/1.hd.mp4' }],
        }),
      ],
    });
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout.split('\n').filter((line) => line.startsWith('Worth a look'))).toEqual([
      'Worth a look: HTML tags in a text, which visitors would see: 1 listing: with-tags',
      'Worth a look: public without a photo: 1 listing: bare',
      'Worth a look: public without a title: 1 listing: bare',
      'Worth a look: public without a location: 1 listing: bare',
      'Worth a look: a gallery without any alt text: 1 listing: no-alt',
      'Worth a look: a video address that is a page and no file: 1 listing: page',
    ]);
  });
});

it('the patch of docs/guides/listings-file.md is accepted', async () => {
  const [patch = '', whole = ''] = codeBlocksOf('docs/guides/listings-file.md', 'json');
  const other = { hid: 'H-2002', slug: 'h-2002', name: 'Home', status: 'listed', display_order: 1 };
  for (const content of [whole, { properties: [other] }]) {
    expect(await imports.load(content)).toMatchObject({ code: 0, stderr: '' });
  }
  expect((await imports.load(patch, '--patch')).code).toBe(0);
  expect(await imports.stored('casa-marea')).toMatchObject({
    price_from: 121000,
    title: { en: 'House above the harbour', es: 'Casa sobre el puerto' },
    bedrooms: 4,
  });
});
