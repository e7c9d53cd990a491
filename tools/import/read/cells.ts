/**
 * What a cell shows of a stored value, and which value a cell gives. A cell that shows the stored
 * value gives no value: what a cell cannot hold (markup, more than 15 digits or 32,767 characters)
 * stays as it is stored. Pure.
 */

import { isBlank } from '../../../src/properties/locale-map.ts';
import { type RichText, toPlainText } from '../../../src/properties/rich-text.ts';
import type { CellKind, Column } from './columns.ts';
import { isMap } from './listing-schemas.ts';
import type { Fault } from './problem.ts';
import type { Patch } from './records.ts';

/** What the library reads of a cell, and the type of the cell. */
export type Cell = { value: string | number | boolean | Date | null; type?: string | undefined };

/** The value of a cell: null if it is empty. */
export type CellValue = string | number | boolean | string[] | null;

type ReadCell = { value: CellValue } | Pick<Fault, 'code' | 'details'>;

const MAX_CHARACTERS = 32_767;
const CUT = '…';
const MAX_DIGITS = 15;

/** Returns the value that a cell of the column shows of a record. */
export function showCell(column: Column, record: Patch): CellValue {
  const own = record[column.field];
  const value = column.locale !== undefined && isMap(own) ? own[column.locale] : own;
  if (column.locale !== undefined && value === own) return null;
  if (Array.isArray(value)) return value.map(String);
  if (isRichText(value)) return showText(toPlainText(value));
  if (typeof value === 'number') return Number(value.toPrecision(MAX_DIGITS));
  return typeof value === 'boolean' ? value : null;
}

function isRichText(value: unknown): value is RichText {
  return typeof value === 'string' || (isMap(value) && value.type === 'doc');
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

/** Whether a cell has the value that is shown of the stored record. */
export function showsStored(cell: unknown, column: Column, record: Patch): boolean {
  const shown = showCell(column, record);
  if (typeof cell === 'number' && typeof shown === 'number') {
    return Number(cell.toPrecision(MAX_DIGITS)) === shown;
  }
  if (typeof cell === 'string' && typeof shown === 'string') {
    return trimLines(showText(cell) ?? '') === trimLines(shown);
  }
  return JSON.stringify(cell ?? null) === JSON.stringify(shown);
}

/** An .ods drops the tabs at the ends of a line. */
function trimLines(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
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
  number: (cell) => (typeof cell === 'number' ? { value: cell } : { code: 'not_a_number' }),
  boolean(cell) {
    if (typeof cell === 'boolean') return { value: cell };
    const word = typeof cell === 'string' ? toWord(cell) : '';
    if (/^(yes|true)$/.test(word)) return { value: true };
    return /^(no|false)$/.test(word) ? { value: false } : { code: 'not_a_boolean' };
  },
};

/** A number is its digits, of which a spreadsheet keeps 15. */
function readText(cell: string | number | boolean): ReadCell {
  if (typeof cell === 'boolean') return { code: 'not_a_text' };
  if (typeof cell === 'string') return { value: cell.replaceAll(/\r\n?/g, '\n') };
  const isShort = Math.abs(cell) < 10 ** MAX_DIGITS && !String(cell).includes('e');
  return isShort ? { value: String(cell) } : { code: 'too_many_digits' };
}

/** Without invisible characters, which no word has. */
export function toWord(cell: string): string {
  return cell
    .replaceAll(/\p{Cf}/gu, '')
    .trim()
    .toLowerCase();
}

/** Reads a cell by its type. Nothing is guessed. */
export function readCell({ kind, choices }: Column, { value, type }: Cell): ReadCell {
  if (type === 'error') return { code: 'formula_error' };
  if (type === 'formula' && value === null) return { code: 'formula_without_value' };
  if (value instanceof Date) return { code: kind === 'number' ? 'date_not_number' : 'date' };
  if (value === null || (typeof value === 'string' && isBlank(value))) {
    return { value: kind === 'slugs' ? [] : null };
  }
  const isChoice = Array.isArray(choices);
  if (isChoice && typeof value !== 'string') {
    return { code: 'not_a_choice', details: { choices: choices.join(', ') } };
  }
  return KINDS[kind](value);
}
