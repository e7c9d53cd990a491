import { expect, it } from 'vitest';
import { readPages, splitIntoBatches } from '../../../tools/database/tables.ts';
import { Database } from '../../support/cloudflare/database.ts';

const HUGE = 400_000;

function makeTexts() {
  const { sqlite, binding } = new Database('pages');
  sqlite.exec('CREATE TABLE texts (place integer PRIMARY KEY, text)');
  return { binding, insert: sqlite.prepare('INSERT INTO texts VALUES (?, ?)') };
}

it('pages have every row once', async () => {
  const { binding, insert } = makeTexts();
  const places = Array.from({ length: 60 }, (_, row) => 3 * row - 9);
  for (const place of places) insert.run(place, 'é'.repeat(place < 90 ? HUGE / 2 : 1));
  const sizes: number[] = [];
  const read: unknown[] = [];
  for await (const page of readPages(binding, 'texts', ['rowid', 'text'])) {
    insert.run(1_000 + sizes.length, 'added');
    sizes.push(page.length);
    read.push(...page.map(({ rowid }) => rowid));
  }
  expect(read).toEqual(places);
  // Two megabytes, and what the last row of a page has beyond them.
  expect(sizes.slice(0, 3)).toEqual([5, 5, 5]);
  expect(sizes.at(-1)).toBeGreaterThan(5);
});

it('a page of small rows before large ones is bounded by its size', async () => {
  const { binding, insert } = makeTexts();
  for (let n = 0; n < 5_000; n += 1) insert.run(n, 'x'.repeat(n < 4_000 ? 1 : 10_000));
  const sizes: number[] = [];
  for await (const { length } of readPages(binding, 'texts', ['rowid', 'text'])) sizes.push(length);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(5_000);
  // At most 4,000 rows, and two megabytes.
  expect(sizes).toEqual([4_000, 200, 200, 200, 200, 200]);
});

it('batches have at most a megabyte, unless a row is larger', async () => {
  const rows = [...Array(5_000).fill(1), HUGE, HUGE, HUGE, 1_500_000, 1].map((size) =>
    JSON.stringify('x'.repeat(size)),
  );
  const batches: string[][] = [];
  for await (const { json, count } of splitIntoBatches(rows)) {
    batches.push(JSON.parse(json));
    expect(batches.at(-1)).toHaveLength(count);
  }
  expect(batches.flat().map((text) => JSON.stringify(text))).toEqual(rows);
  expect(batches.map(({ length }) => length)).toEqual([5_002, 1, 1, 1]);
});
