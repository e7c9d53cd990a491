/** What a cell means for a column, by its type. */

import { describe, expect, it } from 'vitest';
import { type Cell, readCell } from '../../../tools/import/read/cells.ts';
import { SHEETS, type SheetName } from '../../../tools/import/read/columns.ts';

function read(sheet: SheetName, name: string, cell: Cell) {
  const column = SHEETS[sheet].columns.find((candidate) => candidate.name === name);
  if (column === undefined) throw new Error(`${sheet} has no column ${name}`);
  return JSON.stringify(readCell(column, cell));
}

describe('readCell', () => {
  it.each<[what: string, cell: Cell, message: string]>([
    [
      'the error of a formula',
      { value: '#N/A', type: 'error', formula: 'A1' },
      'is the error of a formula. Correct the formula or enter its value.',
    ],
    [
      'the error of a formula in an .ods',
      { value: 'Err:502', type: 'formula', formula: 'A1' },
      'is the error of a formula. ',
    ],
    [
      'an error that was pasted',
      { value: '#N/A', type: 'error' },
      'is an error, not a value. Enter the value instead.',
    ],
    [
      'a picture in the cell, which Excel saves as an error',
      { value: '#VALUE!', type: 'error' },
      'is a picture in the cell, a linked data type, or an error that was pasted: none of them has a value. Enter the value, for example the address of the picture.',
    ],
    [
      'a picture of the function IMAGE',
      { value: '#VALUE!', type: 'error', formula: '_xlfn.IMAGE("https://a.example/1.jpg")' },
      'is a picture that a formula shows. Enter the value instead.',
    ],
    [
      'a picture of WPS',
      { value: '=DISPIMG("ID_1",1)', type: 'formula', formula: '_xlfn.DISPIMG("ID_1",1)' },
      'is a picture that a formula shows.',
    ],
  ])('rejects %s', (_what, cell, message) => {
    expect(read('photos', 'url', cell)).toContain(JSON.stringify(message).slice(1, -1));
  });
});
