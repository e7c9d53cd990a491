/**
 * Row marks. An export writes one into the hidden column `as of` of each row: a hash of the text that
 * each cell displays. The next import compares them to detect edited cells.
 *
 *     m3 key:1f0c22ab export:9d21c0e7 database:40c1d2aa slug:0b5e8f10 hid:77de68da … m3
 *
 * The rows of an import are stored in the same form, in `imported_rows`.
 */

import { hash } from 'node:crypto';
import type { Patch } from '../catalogue/records.ts';
import { displayedText } from './cells.ts';
import { type Column, dataColumns, type ListName } from './columns.ts';

const FORMAT_VERSION = 'm3';

/** The mark of one row. */
export class RowMark {
  /** Identifies the row in its sheet. */
  readonly key: string;
  readonly #text: string;

  private constructor(text: string, key: string) {
    this.#text = text;
    this.key = key;
  }

  /** Returns undefined for another version of the format, or a cell that a program has truncated. */
  static parse(cell: unknown): RowMark | undefined {
    if (typeof cell !== 'string') return undefined;
    if (!cell.startsWith(`${FORMAT_VERSION} `) || !cell.endsWith(` ${FORMAT_VERSION}`)) {
      return undefined;
    }
    const key = findEntry(cell, 'key');
    return key === undefined ? undefined : new RowMark(cell, key);
  }

  /** Returns an entry of the mark, e.g. `export`, or the hash of the column `slug`. */
  get(name: string): string | undefined {
    return findEntry(this.#text, name);
  }
}

/** Searches the text, because splitting it takes four times as long. */
function findEntry(text: string, name: string): string | undefined {
  const label = ` ${name}:`;
  const at = text.indexOf(label);
  const start = at + label.length;
  return at === -1 ? undefined : text.slice(start, text.indexOf(' ', start));
}

/** Returns the text of a mark. `entries` are added to the hashes of the columns. */
export function formatMark(
  columns: readonly Column[],
  record: Patch,
  entries: Readonly<Record<string, string>>,
): string {
  const hashes = columns.map(
    (column) => `${column.name}:${hashText(displayedText(column, record))}`,
  );
  const others = Object.entries(entries).map(([name, text]) => `${name}:${text}`);
  return [FORMAT_VERSION, ...others, ...hashes, FORMAT_VERSION].join(' ');
}

const HASH_DIGITS = 8;

export function hashText(text: string): string {
  return hash('sha1', text).slice(0, HASH_DIGITS);
}

/** Identifies a database. A restore or Time Travel changes its generation, and so the hash. */
export function hashDatabase({ lineage, generation }: Record<'lineage' | 'generation', string>) {
  return hashText(`${lineage} ${generation}`);
}

/** Returns the text that the cells of an entry display, without its number. */
export function formatContent(sheet: ListName, record: Patch): string {
  return dataColumns(sheet)
    .map((column) => displayedText(column, record))
    .join('\n');
}

/**
 * Returns the entries of a listing's mark about one of its lists: the hash of the order, and the key
 * of each entry with the hash of its content.
 */
export function formatListMark(sheet: ListName, rows: readonly { key: string; record: Patch }[]) {
  const keys = rows.map(({ key }) => key);
  const contents = rows.map(({ key, record }) => key + hashText(formatContent(sheet, record)));
  return { [sheet]: hashText(keys.join(' ')), [`${sheet}.rows`]: contents.join(',') };
}

/** Returns the hash of each entry's content by the entry's key. */
export function parseEntryHashes(
  rows: string | undefined,
): ReadonlyMap<string, string> | undefined {
  const entries = rows
    ?.split(',')
    .map((entry) => [entry.slice(0, HASH_DIGITS), entry.slice(HASH_DIGITS)] as const);
  return entries && new Map(entries);
}
