/** A file that was made before the store changed: the stories of editors who do not know of each other. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

type Listing = Record<string, unknown> & { slug: string; as_of?: string };
type File = { export_id?: string; operation?: string; properties: Listing[] };

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'conflicts-'));
const undoFile = join(folder, 'undo.json');
afterAll(() => rmSync(folder, { recursive: true }));

const homes = ['casa-a', 'casa-b', 'casa-c'].map((slug, index) =>
  propertyOf({ slug, name: slug, hid: `H-${index}`, price_from: 100_000, display_order: index }),
);
const [A, B] = ['casa-a', 'casa-b'];

beforeEach(async () => {
  imports.clear();
  rmSync(undoFile, { force: true });
  vi.stubEnv('GITHUB_ACTOR', 'ana');
  await imports.load({ properties: homes });
});
afterAll(() => vi.unstubAllEnvs());

const exported = async (): Promise<File> => JSON.parse(await imports.exported());

/** Returns the file with other fields of some listings. */
const edited = (file: File, changes: Record<string, object>): File => ({
  ...file,
  properties: file.properties.map((each) => ({ ...each, ...changes[each.slug] })),
});
const patch = (fields: object) => imports.load({ properties: [fields] }, '--patch');
const lastOperation = () => imports.rows('SELECT * FROM operations ORDER BY rowid DESC LIMIT 1')[0];
const prices = () =>
  imports
    .rows(`SELECT slug || ' ' || status || ' ' || (source->>'$.price_from') AS home
           FROM properties ORDER BY slug`)
    .map(({ home }) => home);

it('the file of nine o’clock does not take back what others changed at ten', async () => {
  const nine = await exported();
  const [lineage] = imports.rows('SELECT lineage FROM database_identity');
  expect(nine.export_id).toMatch(new RegExp(`^${lineage?.lineage}-[0-9a-f-]{36}$`));
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 27, 10), toFake: ['Date'] });
  await imports.setStatus('hidden', 'casa-b');
  const status = lastOperation();
  await patch({ slug: A, price_from: 305_000 });
  vi.useRealTimers();
  const price = lastOperation();
  const late = edited(nine, { 'casa-c': { title: { en: 'Fishers' } } });
  const rejected = await imports.load(late);
  expect(rejected).toEqual({
    code: 1,
    stdout: '',
    stderr: [
      `properties[0] (slug "casa-a"): has changed since the file was made, 2026-11-27 10:00 UTC by ana, import-listings listings.json (${price?.id}): the file would change price_from 305000 → 100000`,
      `properties[1] (slug "casa-b"): has changed since the file was made, 2026-11-27 10:00 UTC by ana, set-status (${status?.id}): the file would change status "hidden" → "listed"`,
      'Export the catalogue again, and repeat the change there. --overwrite replaces what is stored.',
      '2 problems. Nothing was changed.\n',
    ].join('\n'),
  });
  expect(prices()).toEqual([
    'casa-a listed 305000',
    'casa-b hidden 100000',
    'casa-c listed 100000',
  ]);
});

it('--overwrite takes them back, and names each of them first', async () => {
  const nine = await exported();
  await imports.setStatus('coming_soon', 'casa-b', 'casa-c');
  const written = await imports.load(nine, '--overwrite');
  expect(written.code).toBe(0);
  expect(written.stderr.split('\n').map((line) => line.replace(/,.*:/, ' …'))).toEqual([
    'Warning: properties[1] (slug "casa-b"): has changed since the file was made … the file would change status "coming_soon" → "listed"',
    'Warning: properties[2] (slug "casa-c"): has changed since the file was made … the file would change status "coming_soon" → "listed"',
    '',
  ]);
  expect(prices()).toEqual([
    'casa-a listed 100000',
    'casa-b listed 100000',
    'casa-c listed 100000',
  ]);
});

it('a file is imported again after it was corrected, and when the others changed nothing of it', async () => {
  const nine = await exported();
  await imports.load(edited(nine, { 'casa-a': { price_from: 1 } }));
  const { export_id, ...corrected } = edited(nine, { 'casa-a': { price_from: 2 } });
  expect(await imports.load({ export_id, ...corrected })).toMatchObject({ code: 0, stderr: '' });
  expect((await imports.load(corrected)).code).toBe(0);
  expect((await imports.load(edited(corrected, { 'casa-a': { price_from: 3 } }))).code).toBe(1);
});

it('a change of the same export is none, also after another export saw it', async () => {
  const nine = await exported();
  await imports.load(edited(nine, { 'casa-a': { price_from: 1 } }));
  await imports.load(edited(await exported(), { 'casa-a': { price_from: 2 } }));
  const again = await imports.load(edited(nine, { 'casa-a': { price_from: 1 } }));
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('price_from 2 → 1')]);
});

it('a record without a version is not checked, and neither is one that is not stored', async () => {
  const nine = await exported();
  await patch({ slug: A, price_from: 1 });
  const unversioned = nine.properties.map(({ as_of, ...record }) => record);
  expect(await imports.load({ ...nine, properties: unversioned })).toMatchObject({ code: 0 });
  imports.clear();
  expect(await imports.load(nine)).toMatchObject({ code: 0 });
});

it('a location or an amenity with another name ages no file', async () => {
  const locations = [{ id: crypto.randomUUID(), slug: 'bay', name: { en: 'The bay' } }];
  const amenities = [{ slug: 'wifi', label: { en: 'Wi-Fi' } }];
  const home = { ...homes[0], location: 'bay', amenities: ['wifi'] };
  await imports.load({ locations, amenities, properties: [home] });
  const nine = await exported();
  const renamed = { locations: [{ slug: 'bay', name: { en: 'B' } }] };
  await imports.load({ ...renamed, amenities: [{ slug: 'wifi', label: { en: 'W' } }] }, '--patch');
  const late = edited(nine, { 'casa-a': { price_from: 7 } });
  expect(await imports.load(late)).toMatchObject({ code: 0 });
});

it('the undo of the first of two imports does not take back the second', async () => {
  await imports.load(
    {
      properties: [
        { slug: A, price_from: 310_000 },
        { slug: B, price_from: 2 },
      ],
    },
    ...['--patch', '--undo', undoFile],
  );
  const undo: File = JSON.parse(readFileSync(undoFile, 'utf8'));
  expect(undo.operation).toBe(lastOperation()?.id);
  await patch({ slug: A, title: { en: 'A new title' }, status: 'hidden' });
  const rejected = await imports.run(undoFile, '--many');
  expect(rejected.code).toBe(1);
  expect(rejected.stderr).toContain(
    'the file would change status "hidden" → "listed"; title.en removed; price_from 310000 → 100000\n',
  );
  const done = await imports.run(undoFile, '--many', '--overwrite');
  expect(done.code).toBe(0);
  expect(prices()).toEqual([
    'casa-a listed 100000',
    'casa-b listed 100000',
    'casa-c listed 100000',
  ]);
});

it('an undo hides what the import added only while nobody has changed it', async () => {
  const added = propertyOf({ slug: 'nueva', name: 'Nueva' });
  await imports.load({ properties: [added] }, '--undo', undoFile);
  await patch({ slug: 'nueva', price_from: 5 });
  const rejected = await imports.run(undoFile);
  expect([rejected.code, rejected.stderr]).toEqual([
    1,
    expect.stringContaining('status "listed" → "hidden"'),
  ]);
});
