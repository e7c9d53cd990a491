import { expect, it } from 'vitest';
import { nearest } from '../../../tools/import/read/problem.ts';

it.each([
  ['casa-ginebrer', ['casa-palmera', 'casa-el-ginebrer'], 'casa-el-ginebrer'],
  ['STATUS', ['state', 'status'], 'status'],
  ['pohtos', ['price', 'photos'], 'photos'],
  ['xyz', ['slug', 'name'], undefined],
  ['', ['y'], undefined],
])('the word nearest to %j in %j is %j', (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});
