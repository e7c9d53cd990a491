/**
 * The marks of an export: what its cells have shown. The hidden column `as of` has a hash of each
 * cell of its row, so that an import knows which cells an editor has touched. Pure.
 *
 *     m1_1f0c22ab 9d21c0e7 …   the form, the hash of the row's id, then a hash of each cell
 *                              (without the spaces)
 */

import { hash } from 'node:crypto';

const FORM = 'm1_';
const DIGITS = 8;

/** `cells` has the hashes of the cells, one after the other. */
export type Marks = { row: string; cells: string };

/** The column counts too: a cell under another header is another cell. */
export function hashCell(column: string, text: string): string {
  return hash('sha1', `${column}\n${text}`).slice(0, DIGITS);
}

/** Identifies the row of a record, e.g. of `LISTING_ID PHOTO_ID`. */
export function hashId(id: string): string {
  return hashCell('id', id);
}

/** The texts of the cells by column. */
export function formatMarks(row: string, cells: Readonly<Record<string, string>>): string {
  const hashes = Object.entries(cells).map(([column, text]) => hashCell(column, text));
  return `${FORM}${row}${hashes.join('')}`;
}

/** Another form is no mark. */
export function parseMarks(text: unknown): Marks | undefined {
  if (typeof text !== 'string' || !text.startsWith(FORM)) return undefined;
  const start = FORM.length + DIGITS;
  return { row: text.slice(FORM.length, start), cells: text.slice(start) };
}

/** Whether a cell of the row had the hash in the export. */
export function isMarked({ cells }: Marks, wanted: string): boolean {
  for (let at = 0; at < cells.length; at += DIGITS) {
    if (cells.startsWith(wanted, at)) return true;
  }
  return false;
}
