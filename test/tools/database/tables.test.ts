import { describe, expect, it } from 'vitest';
import { readPages, splitIntoBatches } from '../../../tools/database/tables.ts';
import { Database } from '../../support/cloudflare/database.ts';

const HUGE = 400_000;

function makeTexts() {
  const { sqlite, binding } = new Database('pages');
  sqlite.exec('CREATE TABLE texts (position integer PRIMARY KEY, text)');
  return { binding, insert: sqlite.prepare('INSERT INTO texts VALUES (?, ?)') };
}

describe('readPages', () => {
  it('reads every existing row exactly once', async () => {
    const { binding, insert } = makeTexts();
    const positions = Array.from({ length: 60 }, (_, row) => 3 * row - 9);
    for (const position of positions)
      insert.run(position, 'é'.repeat(position < 90 ? HUGE / 2 : 1));
    const sizes: number[] = [];
    const rowIds: unknown[] = [];
    for await (const page of readPages(binding, 'texts', ['rowid', 'text'])) {
      insert.run(1_000 + sizes.length, 'added');
      sizes.push(page.length);
      rowIds.push(...page.map(({ rowid }) => rowid));
    }
    expect(rowIds).toEqual(positions);
    // A page has two megabytes, plus the excess of its last row.
    expect(sizes.slice(0, 3)).toEqual([5, 5, 5]);
    expect(sizes.at(-1)).toBeGreaterThan(5);
  });

  it('limits the size of pages whose rows differ in size', async () => {
    const { binding, insert } = makeTexts();
    for (let n = 0; n < 5_000; n += 1) insert.run(n, 'x'.repeat(n < 4_000 ? 1 : 10_000));
    const sizes: number[] = [];
    for await (const { length } of readPages(binding, 'texts', ['rowid', 'text']))
      sizes.push(length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5_000);
    // A page has at most 4,000 rows or two megabytes.
    expect(sizes).toEqual([4_000, 200, 200, 200, 200, 200]);
  });
});

it('splits rows into batches of at most one megabyte unless a single row is larger', async () => {
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
