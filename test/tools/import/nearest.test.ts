import { expect, it } from 'vitest';
import { nearest } from '../../../tools/import/read/problem.ts';

it.each([
  ['dryrun', ['remote', 'dry-run'], 'dry-run'],
  ['casa-ginebrer', ['casa-palmera', 'casa-el-ginebrer'], 'casa-el-ginebrer'],
  ['statsu', ['stats', 'status'], 'stats'],
  ['STATUS', ['state', 'status'], 'status'],
  ['pohtos', ['price', 'photos'], 'photos'],
  ['xyz', ['slug', 'name'], undefined],
  ['x', ['y'], undefined],
  ['', ['y'], undefined],
])('the word nearest to %j in %j is %j', (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});
