import { expect, it } from 'vitest';
import { readPages, splitIntoBatches } from '../../../tools/database/tables.ts';
import { Database } from '../../support/cloudflare/database.ts';

const HUGE = 400_000;

it('pages have every row once', async () => {
  const { sqlite, binding } = new Database('pages');
  sqlite.exec('CREATE TABLE texts (place integer PRIMARY KEY, text)');
  const insert = sqlite.prepare('INSERT INTO texts VALUES (?, ?)');
  const places = Array.from({ length: 60 }, (_, row) => 3 * row - 9);
  for (const place of places) insert.run(place, 'x'.repeat(place < 90 ? HUGE : 1));
  const sizes: number[] = [];
  const read: unknown[] = [];
  for await (const page of readPages(binding, 'texts', ['rowid', 'text'])) {
    insert.run(1_000 + sizes.length, 'added');
    sizes.push(page.length);
    read.push(...page.map(({ rowid }) => rowid));
  }
  expect(read).toEqual(places);
  // The first page is read before any row is known.
  expect(sizes.slice(0, 3)).toEqual([10, 4, 4]);
  expect(sizes.at(-1)).toBeGreaterThan(10);
});

it('batches have at most 100 rows and a megabyte, unless a row is larger', () => {
  const sizes = [...Array(150).fill(1), HUGE, HUGE, HUGE, 1_500_000, 1];
  const batches = [...splitIntoBatches(sizes, (size) => size)];
  expect(batches.flat()).toEqual(sizes);
  expect(batches.map(({ length }) => length)).toEqual([100, 52, 1, 1, 1]);
});
