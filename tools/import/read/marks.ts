/**
 * Row marks. An export writes one into the hidden cell `as of` of each row. It contains a hash of the
 * text that each cell displays. The next import compares the hashes to detect edited cells.
 *
 *     m3 key:1f0c22ab export:9d21c0e7 database:40c1d2aa slug:0b5e8f10 hid:77de68da … m3
 *
 * The table `imported_rows` stores the rows of an import in the same form.
 */

import { hash } from 'node:crypto';
import type { Fields } from '../catalogue/records.ts';
import { displayedText } from './cells.ts';
import { type Column, dataColumns, type ListName } from './columns.ts';

const FORMAT_VERSION = 'm3';

export class RowMark {
  /** Hash that identifies the row in its sheet. */
  readonly key: string;
  readonly #text: string;

  private constructor(text: string, key: string) {
    this.#text = text;
    this.key = key;
  }

  /**
   * Parses a mark. Returns undefined for a different version of the format, or a truncated cell.
   */
  static parse(cell: unknown): RowMark | undefined {
    if (typeof cell !== 'string') return undefined;
    if (!cell.startsWith(`${FORMAT_VERSION} `) || !cell.endsWith(` ${FORMAT_VERSION}`)) {
      return undefined;
    }
    const key = findEntry(cell, 'key');
    return key === undefined ? undefined : new RowMark(cell, key);
  }

  /** Returns an entry of the mark, such as `export`, or a column's hash by the column's name. */
  get(name: string): string | undefined {
    return findEntry(this.#text, name);
  }
}

/** Finds an entry by searching the text, because splitting it takes four times as long. */
function findEntry(text: string, name: string): string | undefined {
  const label = ` ${name}:`;
  const at = text.indexOf(label);
  const start = at + label.length;
  return at === -1 ? undefined : text.slice(start, text.indexOf(' ', start));
}

/** Formats a mark. `entries` are written before the hashes of the columns. */
export function formatMark(
  columns: readonly Column[],
  record: Fields,
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

/**
 * Returns a hash that identifies a database. It changes with the generation, which every restore
 * and Time Travel replaces.
 */
export function hashDatabase({ lineage, generation }: Record<'lineage' | 'generation', string>) {
  return hashText(`${lineage} ${generation}`);
}

/**
 * Returns the text that the cells of a list entry display. The entry's position is not included.
 */
export function formatContent(sheet: ListName, record: Fields): string {
  return dataColumns(sheet)
    .map((column) => displayedText(column, record))
    .join('\n');
}

/**
 * Returns the entries for one of a listing's lists in the listing's mark. They are a hash of the
 * list's order, and a hash of each entry's content after the entry's key.
 */
export function formatListMark(sheet: ListName, rows: readonly { key: string; record: Fields }[]) {
  const keys = rows.map(({ key }) => key);
  const contents = rows.map(({ key, record }) => key + hashText(formatContent(sheet, record)));
  return { [sheet]: hashText(keys.join(' ')), [`${sheet}.rows`]: contents.join(',') };
}

/** Returns the content hashes of a list's entries, by the entries' keys. */
export function parseEntryHashes(
  rows: string | undefined,
): ReadonlyMap<string, string> | undefined {
  const entries = rows
    ?.split(',')
    .map((entry) => [entry.slice(0, HASH_DIGITS), entry.slice(HASH_DIGITS)] as const);
  return entries && new Map(entries);
}
