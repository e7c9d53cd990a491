/**
 * What a cell shows of a stored value, and which value a cell gives. A cell that shows the stored
 * value gives no value: what a cell cannot hold (markup, more than 15 digits or 32,767 characters)
 * stays as it is stored. Pure.
 */

import { isBlank } from '../../../src/properties/locale-map.ts';
import { type RichText, toPlainText } from '../../../src/properties/rich-text.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import type { Patch } from '../catalogue/records.ts';
import { type CellKind, type Column, getValue } from './columns.ts';

/** What the library reads of a cell, the type of the cell, and its formula. */
export type Cell = {
  value: string | number | boolean | Date | null;
  type?: string | undefined;
  formula?: string | undefined;
};

/** The value of a cell: null if it is empty. */
export type CellValue = string | number | boolean | string[] | null;

/** What a cell of an export has. */
type ShownCell = string | number | null;

type ReadCell = { value: CellValue } | { message: string };

const MAX_CHARACTERS = 32_767;
const CUT = '…';
const MAX_DIGITS = 15;

/** Writes the cell of a column: for an export, for the comparison, and for a conflict. */
export function toCell(column: Column, record: Patch): ShownCell {
  const value = getValue(record, column);
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(', ');
  if (typeof value === 'string') return showText(value);
  if (isDocument(value)) return showText(toPlainText(value));
  if (typeof value === 'number') return toShownNumber(value);
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : null;
}

/** As a spreadsheet shows it: `=412000*1.1` is saved as 453200.00000000006. */
function toShownNumber(value: number): number {
  const shown = Number(value.toPrecision(MAX_DIGITS));
  // The largest numbers would be rounded to infinity.
  return Number.isFinite(shown) ? shown : value;
}

function isDocument(value: unknown): value is RichText {
  return isMap(value) && value.type === 'doc';
}

/** XML has no control characters, and a spreadsheet no other line end. */
function showText(text: string): string | null {
  const shown = text
    .replaceAll(/\r\n?/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are dropped
    .replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
  if (isBlank(shown)) return null;
  if (shown.length <= MAX_CHARACTERS) return shown;
  const cut = shown.slice(0, MAX_CHARACTERS - CUT.length);
  // Half of a surrogate pair becomes U+FFFD.
  return `${cut.toWellFormed().replace(/\ufffd$/, '')}${CUT}`;
}

/** A cell as its reader sees it: a program that saves a workbook may drop spaces and tabs. */
export function displayedText(column: Column, record: Patch): string {
  const empty = column.kind === 'boolean' ? 'no' : '';
  const lines = `${toCell(column, record) ?? empty}`.split('\n').map((line) => line.trim());
  return lines.join('\n').trim();
}

const KINDS: Record<CellKind, (cell: string | number | boolean) => ReadCell> = {
  text: readText,
  word(cell) {
    const read = readText(cell);
    return 'value' in read && typeof read.value === 'string' ? { value: toWord(read.value) } : read;
  },
  slugs(cell) {
    const read = readText(cell);
    if (!('value' in read)) return read;
    return { value: `${read.value}`.split(/[,;|\r\n]+/).flatMap((each) => toWord(each) || []) };
  },
  number(cell) {
    if (typeof cell === 'number') return { value: cell };
    const number = guessNumber(`${cell}`) ?? 'a number';
    return { message: `is no number: format the cell as a number, and write ${number}` };
  },
  boolean(cell) {
    if (typeof cell === 'boolean') return { value: cell };
    const word = typeof cell === 'string' ? toWord(cell) : '';
    if (/^(yes|true)$/.test(word)) return { value: true };
    return /^(no|false)$/.test(word) ? { value: false } : { message: 'must be yes or no' };
  },
};

/** A number, which may have a currency. The digits after a leading zero may be decimals or a code. */
const AMOUNT = /^(?:[A-Z]{3}\s)?[\p{Sc}\s]*(-?)(\d|[1-9][\d.,'’\s]*\d)[\p{Sc}\s]*$/u;

/**
 * Returns the number that a text certainly means, for the message that rejects the text.
 *
 * @example guessNumber('€ 1.295.000,50') // 1295000.5
 * @example guessNumber('295.000') // undefined: 295, or 295000
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

/** A number is its digits, of which a spreadsheet keeps 15. */
function readText(cell: string | number | boolean): ReadCell {
  if (typeof cell === 'boolean') return { message: `is no text: ${rewrite('text')}` };
  if (typeof cell === 'string') return { value: cell.replaceAll(/\r\n?/g, '\n') };
  const isShort = Math.abs(cell) < 10 ** MAX_DIGITS && !String(cell).includes('e');
  if (isShort) return { value: String(cell) };
  const fault = 'is a number with more than 15 digits, which a spreadsheet rounds';
  return { message: `${fault}: ${rewrite('text')}` };
}

function rewrite(form: string): string {
  return `format the cell as ${form}, and write it again`;
}

/** e.g. `#N/A`, `#DIV/0!`, `#NAME?`, `#NV`, `#¡REF!`, `Err:502` */
export function isFormulaError(value: unknown): boolean {
  const error = /^(#(N\/[AD]|NV|[¡¿]?(\p{Lu}{3,}|DIV\/0)[!?])|Err:\d{3})$/u;
  return typeof value === 'string' && error.test(value);
}

/** Without invisible characters, which no word has. */
export function toWord(cell: string): string {
  return cell
    .replaceAll(/\p{Cf}/gu, '')
    .trim()
    .toLowerCase();
}

/** Google Sheets writes so a function that only it has, beside `Loading...` until it has a value. */
const GOOGLE_FUNCTION = '__xludf.DUMMYFUNCTION';
/** The time of an .ods. */
const TIME = /^PT\d+H\d+M[\d.,]+S$/;

/** What an empty cell of a photo or video says: it is visible, in the gallery. */
const EMPTY: Readonly<Record<string, CellValue>> = { section: 'gallery', web_visible: true };

/** Functions of Excel and of WPS that show a picture in their cell. */
const PICTURE_FUNCTION = /^(_xl\w+\.)*(IMAGE|DISPIMG)\(/;

/** An error without a formula. In Excel, a picture in a cell and a linked data type are saved as one. */
function describeError(value: Cell['value']): string {
  return value === '#VALUE!'
    ? 'is a picture in the cell, a linked data type, or an error that was pasted: none of them has a value. Enter the value, for example the address of the picture.'
    : 'is an error, not a value. Enter the value instead.';
}

/** Reads a cell by its type. Nothing is guessed. */
export function readCell(
  { field, kind, choices }: Column,
  { value, type, formula }: Cell,
): ReadCell {
  if (PICTURE_FUNCTION.test(formula ?? '')) {
    return { message: 'is a picture that a formula shows. Enter the value instead.' };
  }
  if (type === 'error' && formula === undefined) return { message: describeError(value) };
  if (type === 'error' || (type === 'formula' && isFormulaError(value))) {
    return { message: 'is the error of a formula. Correct the formula or enter its value.' };
  }
  if (formula?.includes(GOOGLE_FUNCTION) && /(\.\.\.|…)$/.test(`${value}`)) {
    return {
      message:
        'is a formula that Google Sheets had not computed: open the sheet, wait for its values, and download it again',
    };
  }
  if (type === 'formula' && value === null) {
    return {
      message:
        'is a formula without a value: open the workbook in a spreadsheet program, and save it',
    };
  }
  if (value instanceof Date || TIME.test(`${value}`)) {
    return { message: `is a date: ${rewrite(kind === 'number' ? 'a number' : 'text')}` };
  }
  if (value === null || (typeof value === 'string' && isBlank(value))) {
    return { value: kind === 'slugs' ? [] : (EMPTY[field] ?? null) };
  }
  const isChoice = Array.isArray(choices);
  if (isChoice && typeof value !== 'string') {
    return { message: `must be a text, one of ${choices.join(', ')}` };
  }
  return KINDS[kind](typeof value === 'number' ? toShownNumber(value) : value);
}
