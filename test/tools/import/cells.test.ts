/** Tests how cells are read and written according to the type of their column. */

import { describe, expect, it } from 'vitest';
import { type Cell, readCell, toCell } from '../../../tools/import/read/cells.ts';
import { SHEET_NAMES, SHEETS } from '../../../tools/import/read/columns.ts';

/** Reads a cell in a column such as `listings.price_from`. */
function read(path: string, cell: Cell | Cell['value']) {
  const [sheetName = '', columnName = ''] = path.split('.');
  const sheet = SHEET_NAMES.find((name) => name === sheetName);
  const column = sheet && SHEETS[sheet].columns.find(({ name }) => name === columnName);
  if (column === undefined) throw new Error(`There is no column ${path}`);
  const isWithType = cell !== null && typeof cell === 'object' && 'value' in cell;
  return readCell(column, isWithType ? cell : { value: cell });
}

const DAY = new Date(Date.UTC(2026, 7, 1));
const NUMBER = 'Format the cell as a number and enter';
const TEXT = 'Format the cell as text and enter it again.';
const STATUSES = 'must be one of listed, coming_soon, sold_out, hidden';

describe('readCell', () => {
  it.each<[path: string, value: Cell['value'], result: unknown]>([
    ['listings.price_from', 453200.00000000006, 453200],
    ['listings.price_from', null, null],
    ['listings.hid', 123, '123'],
    ['listings.city', ' Deià\r\nPort ', ' Deià\nPort '],
    ['listings.city', '\u200b ', null],
    ['listings.status', ' Sold_Out\u200b', 'sold_out'],
    ['listings.is_early_access', 'TRUE', true],
    ['listings.is_early_access', false, false],
    ['listings.amenities', 'wifi; Pool|sauna\nwifi', ['wifi', 'pool', 'sauna', 'wifi']],
    ['listings.amenities', null, []],
    ['photos.visible', null, true],
    ['photos.section', '', 'gallery'],
  ])('reads %s %j as %j', (path, value, result) => {
    expect(read(path, value)).toEqual({ value: result });
  });

  it.each<
    [
      path: string,
      cell: Cell | Cell['value'],
      message: string,
      hint: string | undefined,
      repair?: Cell | Cell['value'],
    ]
  >([
    ['listings.price_from', '295.000', 'is not a number', `${NUMBER} it again.`, 295000],
    ['listings.price_from', '€ 1.295.000,50', 'is not a number', `${NUMBER} 1295000.5.`, 1295000.5],
    ['listings.price_from', '295 000 €', 'is not a number', `${NUMBER} 295000.`, 295000],
    ['listings.price_from', "CHF 1'200", 'is not a number', `${NUMBER} 1200.`, 1200],
    ['listings.price_from', '85,5', 'is not a number', `${NUMBER} 85.5.`, 85.5],
    ['listings.price_from', '295k', 'is not a number', `${NUMBER} it again.`, 295000],
    ['listings.price_from', 'on request', 'is not a number', `${NUMBER} it again.`, 1],
    ['listings.price_from', '2 or 3', 'is not a number', `${NUMBER} it again.`, 2],
    ['listings.price_from', '1.2.3', 'is not a number', `${NUMBER} it again.`, 1],
    ['listings.price_from', true, 'is not a number', `${NUMBER} it again.`, 1],
    ['listings.longitude', '0,119', 'is not a number', `${NUMBER} it again.`, 0.119],
    ['listings.longitude', '−0.119', 'is not a number', `${NUMBER} it again.`, -0.119],
    ['listings.longitude', '39,748', 'is not a number', `${NUMBER} it again.`, 39.748],
    ['listings.beds', DAY, 'is a date', `${NUMBER} it again.`, 8],
    ['listings.fraction_from', DAY, 'is a date', TEXT, '1/8'],
    ['listings.city', 'PT12H30M00S', 'is a date', TEXT, '12:30'],
    ['listings.city', true, 'is not text', TEXT, 'TRUE'],
    [
      'listings.hid',
      1234567890123456,
      'is a number with more than 15 digits, which a spreadsheet rounds',
      TEXT,
      'H-1',
    ],
    ['listings.status', 1, STATUSES, undefined, 'listed'],
    ['listings.is_early_access', 1, 'must be yes or no', undefined, 'yes'],
    ['listings.is_early_access', 'maybe', 'must be yes or no', undefined, 'no'],
    [
      'listings.city',
      { value: '#N/A', type: 'error', formula: 'A1' },
      'is the error of a formula',
      'Correct the formula or enter its value.',
      'Palma',
    ],
    // An .ods has no separate cell type for errors.
    [
      'listings.city',
      { value: 'Err:502', type: 'formula', formula: 'A1' },
      'is the error of a formula',
      'Correct the formula or enter its value.',
    ],
    [
      'listings.city',
      { value: '#N/A', type: 'error' },
      'is an error, not a value',
      'Enter the value instead.',
      'Palma',
    ],
    // Excel saves a picture in a cell as this error.
    [
      'photos.url',
      { value: '#VALUE!', type: 'error' },
      'is a picture in the cell, a linked data type or a pasted error, which have no value',
      'Enter the value, for example the address of the picture.',
      'https://a.example/1.jpg',
    ],
    [
      'photos.url',
      { value: '#VALUE!', type: 'error', formula: '_xlfn.IMAGE("https://a.example/1.jpg")' },
      'is a picture that a formula shows',
      'Enter the value instead.',
    ],
    [
      'photos.url',
      { value: '=DISPIMG("ID_1",1)', type: 'formula', formula: '_xlfn.DISPIMG("ID_1",1)' },
      'is a picture that a formula shows',
      'Enter the value instead.',
    ],
    [
      'listings.beds',
      { value: null, type: 'formula', formula: '1+1' },
      'is a formula without a value',
      'Open the workbook in a spreadsheet program and save it.',
      { value: 2, type: 'formula', formula: '1+1' },
    ],
    [
      'listings.city',
      { value: 'Loading...', type: 'formula', formula: 'IFERROR(__xludf.DUMMYFUNCTION("X"),"")' },
      'is a formula that Google Sheets has not computed yet',
      'Open the sheet, wait for its values, and download it again.',
    ],
  ])('rejects %s %j with a hint that solves the problem', (path, cell, message, hint, repair) => {
    expect(read(path, cell)).toEqual({ message, ...(hint && { hint }) });
    if (repair !== undefined) expect(read(path, repair)).toHaveProperty('value');
  });
});

describe('toCell', () => {
  const paragraph = (text: string) => ({ type: 'paragraph', content: [{ type: 'text', text }] });

  it.each([
    ['all lines of a plain description', 'A\r\n\n\nB', 'A\n\n\nB'],
    [
      'the plain text of a rich description',
      { type: 'doc', content: [paragraph('A'), paragraph('B')] },
      'A\n\nB',
    ],
  ])('contains %s', (_, en, cell) => {
    const column = SHEETS.listings.columns.find(({ name }) => name === 'description.en');
    expect(column && toCell(column, { description: { en } })).toBe(cell);
  });
});
