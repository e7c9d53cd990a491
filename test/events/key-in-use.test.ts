import { expect, it } from 'vitest';
import { describeDifferences } from '../../src/events/key-in-use.ts';

const listPaths = (a: unknown, b: unknown) => describeDifferences(a, b).map(({ path }) => path);

it.each<[paths: string[], a: unknown, b: unknown]>([
  [['a'], { a: 1 }, { a: 2 }],
  [['a'], { a: null }, {}],
  [['a'], {}, { a: false }],
  [['a.b.c'], { a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 3, d: 2 } } }],
  [['a.1'], { a: [1, 2] }, { a: [1, 3] }],
  [['a.2'], { a: [1, 2, 3] }, { a: [1, 2] }],
  [['a'], { a: [] }, { a: {} }],
  [['a'], { a: {} }, { a: null }],
  [['toString'], { toString: 1 }, {}],
  [['x', 'y'], { x: 1, y: 2 }, { x: 2, y: 1 }],
  [[''], 1, 2],
])('finds the differences at %j', (paths, a, b) => {
  expect(listPaths(a, b)).toEqual(paths);
});

it('limits the number of differences and the length of their paths', () => {
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`n${index}`, index]));
  expect(listPaths(many, {})).toHaveLength(50);
  expect(listPaths({ ['x'.repeat(200_000)]: 1 }, {})).toEqual([`${'x'.repeat(500)}…`]);
});
