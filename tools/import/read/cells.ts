/**
 * Converts stored values to cells, and cells back to values.
 *
 *     column        stored                cell           read as
 *     price_from    453200.00000000006    453200         453200
 *     visible       true                  yes            true
 *     amenities     ["wifi", "pool"]      wifi, pool     ["wifi", "pool"]
 *     description   bold text             plain text     plain text
 *     city          null                  (empty)        null
 *
 * A cell that still shows the stored value is not an edit. Therefore a value that a cell cannot hold
 * (markup, more than 15 digits or more than 32,767 characters) stays unchanged in the store.
 */

import { isBlank } from '../../../src/properties/locale-map.ts';
import { type RichText, toPlainText } from '../../../src/properties/rich-text.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import type { Fields } from '../catalogue/records.ts';
import { type CellKind, type Column, getValue } from './columns.ts';
import type { Reason } from './problem.ts';

/** A cell as the spreadsheet library returns it. */
export type Cell = {
  value: string | number | boolean | Date | null;
  type?: string | undefined;
  formula?: string | undefined;
};

/** The value of a cell; null if the cell is empty. */
export type CellValue = string | number | boolean | string[] | null;

/** The value that an export writes into a cell. */
type ExportedCell = string | number | null;

type ReadCell = { value: CellValue } | Reason;

const MAX_CHARACTERS = 32_767;
const CUT = '…';
const MAX_DIGITS = 15;

/**
 * Converts a record's value in a column to a cell. Exports, comparisons and conflict messages use
 * it.
 */
export function toCell(column: Column, record: Fields): ExportedCell {
  const value = getValue(record, column);
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(', ');
  if (typeof value === 'string') return toTextCell(value);
  if (isDocument(value)) return toTextCell(toPlainText(value));
  if (typeof value === 'number') return roundNumber(value);
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : null;
}

/**
 * Rounds a number to the precision of a spreadsheet, which saves `=412000*1.1` as
 * 453200.00000000006.
 */
function roundNumber(value: number): number {
  const rounded = Number(value.toPrecision(MAX_DIGITS));
  // The largest numbers would become infinite.
  return Number.isFinite(rounded) ? rounded : value;
}

function isDocument(value: unknown): value is RichText {
  return isMap(value) && value.type === 'doc';
}

/**
 * Removes control characters, which XML does not allow, and converts all line ends to line feeds.
 */
function toTextCell(text: string): string | null {
  const cell = text
    .replaceAll(/\r\n?/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are dropped
    .replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
  if (isBlank(cell)) return null;
  if (cell.length <= MAX_CHARACTERS) return cell;
  const cut = cell.slice(0, MAX_CHARACTERS - CUT.length);
  // A surrogate pair that was cut in half ends in U+FFFD.
  return `${cut.toWellFormed().replace(/\ufffd$/, '')}${CUT}`;
}

/**
 * Returns a cell as an editor sees it. Spaces and tabs at the ends of lines are removed, because a
 * program that saves the workbook may drop them.
 */
export function displayedText(column: Column, record: Fields): string {
  const empty = column.kind === 'boolean' ? 'no' : '';
  const lines = `${toCell(column, record) ?? empty}`.split('\n').map((line) => line.trim());
  return lines.join('\n').trim();
}

const READERS: Record<CellKind, (cell: string | number | boolean) => ReadCell> = {
  text: readText,
  word(cell) {
    const text = readText(cell);
    return 'value' in text && typeof text.value === 'string' ? { value: toWord(text.value) } : text;
  },
  slugs(cell) {
    const text = readText(cell);
    if (!('value' in text)) return text;
    return { value: `${text.value}`.split(/[,;|\r\n]+/).flatMap((slug) => toWord(slug) || []) };
  },
  number(cell) {
    if (typeof cell === 'number') return { value: cell };
    const number = guessNumber(`${cell}`);
    const hint =
      number === undefined
        ? enterAgain('a number')
        : `Format the cell as a number and enter ${number}.`;
    return { message: 'is not a number', hint };
  },
  boolean(cell) {
    if (typeof cell === 'boolean') return { value: cell };
    const word = typeof cell === 'string' ? toWord(cell) : '';
    if (/^(yes|true)$/.test(word)) return { value: true };
    return /^(no|false)$/.test(word) ? { value: false } : { message: 'must be yes or no' };
  },
};

/**
 * Matches a number with an optional currency. Rejects a leading zero before other digits, because
 * they may be decimals or part of a code.
 */
const AMOUNT = /^(?:[A-Z]{3}\s)?[\p{Sc}\s]*(-?)(\d|[1-9][\d.,'’\s]*\d)[\p{Sc}\s]*$/u;

/**
 * Returns the number that a string unambiguously means; undefined if it is ambiguous. The number is
 * suggested to the editor.
 *
 * @example guessNumber('€ 1.295.000,50') // 1295000.5
 * @example guessNumber('295.000') // undefined: 295 or 295000
 */
function guessNumber(text: string): number | undefined {
  const [, sign = '', digits = ''] = AMOUNT.exec(text) ?? [];
  const groups = digits.split(/[.,'’\s]/);
  const points = digits.match(/[.,]/g) ?? [];
  if (points.length === 1 && groups.at(-1)?.length === 3) return undefined;
  const hasDecimals = points.length === 1 || new Set(points).size > 1;
  const decimals = hasDecimals ? groups.pop() : '0';
  const isUnclear = digits === '' || groups.slice(1).some((group) => group.length !== 3);
  return isUnclear ? undefined : Number(`${sign}${groups.join('')}.${decimals}`);
}

/** Reads a cell as text. Rejects a number with more digits than a spreadsheet keeps. */
function readText(cell: string | number | boolean): ReadCell {
  if (typeof cell === 'boolean') return { message: 'is not text', hint: enterAgain('text') };
  if (typeof cell === 'string') return { value: cell.replaceAll(/\r\n?/g, '\n') };
  const isShort = Math.abs(cell) < 10 ** MAX_DIGITS && !String(cell).includes('e');
  if (isShort) return { value: String(cell) };
  return {
    message: 'is a number with more than 15 digits, which a spreadsheet rounds',
    hint: enterAgain('text'),
  };
}

function enterAgain(format: 'a number' | 'text'): string {
  return `Format the cell as ${format} and enter it again.`;
}

/**
 * Whether a value is a formula error, e.g. `#N/A`, `#DIV/0!`, `#NAME?`, `#NV`, `#¡REF!`, `Err:502`.
 */
export function isFormulaError(value: unknown): boolean {
  const error = /^(#(N\/[AD]|NV|[¡¿]?(\p{Lu}{3,}|DIV\/0)[!?])|Err:\d{3})$/u;
  return typeof value === 'string' && error.test(value);
}

/**
 * Normalises a header, slug or keyword: removes invisible characters and outer spaces, and converts
 * it to lower case.
 */
export function toWord(cell: string): string {
  return cell
    .replaceAll(/\p{Cf}/gu, '')
    .trim()
    .toLowerCase();
}

/** Defaults for empty cells of a photo or video, which is then visible and in the gallery. */
const EMPTY: Readonly<Record<string, CellValue>> = { section: 'gallery', web_visible: true };

/** Reads a cell as a value of its column's type. Never guesses a value. */
export function readCell(column: Column, cell: Cell): ReadCell {
  const { field, kind, choices } = column;
  const { value } = cell;
  const reason = checkFormula(cell);
  if (reason !== undefined) return reason;
  if (value instanceof Date || TIME.test(`${value}`)) {
    return { message: 'is a date', hint: enterAgain(kind === 'number' ? 'a number' : 'text') };
  }
  if (value === null || (typeof value === 'string' && isBlank(value))) {
    return { value: kind === 'slugs' ? [] : (EMPTY[field] ?? null) };
  }
  if (Array.isArray(choices) && typeof value !== 'string') {
    return { message: `must be one of ${choices.join(', ')}` };
  }
  return READERS[kind](typeof value === 'number' ? roundNumber(value) : value);
}

/** Matches a time in an .ods file. */
const TIME = /^PT\d+H\d+M[\d.,]+S$/;

/**
 * Google Sheets exports this name instead of any function that only it supports. The value may
 * still be `Loading...`.
 */
const GOOGLE_FUNCTION = '__xludf.DUMMYFUNCTION';

/** Matches functions of Excel and WPS Office that display a picture in a cell. */
const PICTURE_FUNCTION = /^(_xl\w+\.)*(IMAGE|DISPIMG)\(/;

/** Explains why a cell contains an error or has no value; undefined if it is usable. */
function checkFormula({ value, type, formula }: Cell): Reason | undefined {
  if (PICTURE_FUNCTION.test(formula ?? '')) {
    return { message: 'is a picture that a formula shows', hint: 'Enter the value instead.' };
  }
  if (type === 'error' && formula === undefined) {
    // Excel saves pictures in cells and linked data types as this error.
    return value === '#VALUE!'
      ? {
          message:
            'is a picture in the cell, a linked data type or a pasted error, which have no value',
          hint: 'Enter the value, for example the address of the picture.',
        }
      : { message: 'is an error, not a value', hint: 'Enter the value instead.' };
  }
  if (type === 'error' || (type === 'formula' && isFormulaError(value))) {
    return {
      message: 'is the error of a formula',
      hint: 'Correct the formula or enter its value.',
    };
  }
  if (formula?.includes(GOOGLE_FUNCTION) && /(\.\.\.|…)$/.test(`${value}`)) {
    return {
      message: 'is a formula that Google Sheets has not computed yet',
      hint: 'Open the sheet, wait for its values, and download it again.',
    };
  }
  if (type === 'formula' && value === null) {
    return {
      message: 'is a formula without a value',
      hint: 'Open the workbook in a spreadsheet program and save it.',
    };
  }
  return undefined;
}
