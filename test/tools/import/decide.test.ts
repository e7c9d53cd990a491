/** Tests the table in the head of merge/decide.ts, with a case for each comparison. */

import { describe, expect, it } from 'vitest';
import { decide, type Hashes, isEdited } from '../../../tools/import/merge/decide.ts';

const hashes = (
  base: string | undefined,
  others: Hashes['others'],
  file: string,
  store: string | undefined,
): Hashes => ({ base, others, file, store });

describe('decide', () => {
  it.each([
    ['nothing has changed', hashes('289', [], '289', '289'), 'unchanged'],
    ['file and store have the same new value', hashes('289', [], '275', '275'), 'unchanged'],
    ['the record is new', hashes(undefined, [], '275', undefined), 'apply'],
    ['the record was removed', hashes('289', [], '289', undefined), 'apply'],
    ['the file was edited', hashes('289', [], '275', '289'), 'apply'],
    ['the store has changed', hashes('289', [], '289', '298'), 'keep'],
    ['the file repeats the import of another person', hashes('289', ['275'], '275', '298'), 'keep'],
    ['both have changed', hashes('289', [], '275', '298'), 'conflict'],
    ['another person imported the stored value', hashes('289', ['298'], '275', '298'), 'conflict'],
    ['the mark is lost', hashes(undefined, [], '275', '298'), 'unknown'],
    [
      'the mark is lost after an import by others',
      hashes(undefined, ['298'], '275', '298'),
      'conflict',
    ],
    [
      'others imported the row without this value',
      hashes(undefined, [undefined], '275', '298'),
      'conflict',
    ],
  ])('returns the outcome if %s', (_case, value, outcome) => {
    expect(decide(value, true)).toBe(outcome);
  });

  it('applies a value without a base if the file was not exported', () => {
    expect(decide(hashes(undefined, [], '275', '298'), false)).toBe('apply');
  });
});

describe('isEdited', () => {
  it.each([
    ['the exported value', hashes('289', [], '289', undefined), false],
    ['a value that another person imported', hashes('289', ['275'], '275', undefined), false],
    ['a new value', hashes('289', ['275'], '300', undefined), true],
  ])('decides whether a file with %s was edited', (_case, value, expected) => {
    expect(isEdited(value)).toBe(expected);
  });
});
