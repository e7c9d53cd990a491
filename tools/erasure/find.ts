/** Finds the aggregates of a guest, by a text of their events. */

import { readPages } from '../database/tables.ts';
import type { Aggregate } from './erase.ts';

/** Capitals that Unicode does not decompose, as its transliteration Latin-ASCII writes them. */
const LETTERS: Readonly<Record<string, string>> = {
  Æ: 'AE',
  Œ: 'OE',
  Þ: 'TH',
  Ø: 'O',
  Ł: 'L',
  Đ: 'D',
  Ð: 'D',
  Ħ: 'H',
  Ŋ: 'N',
  Ŧ: 'T',
  Ə: 'E',
};

/** e.g. `Ángel O’Groß-Łoś` → `ANGEL O'GROSS LOS`, as a guest may write it. */
function fold(text: string): string {
  return text
    .replaceAll(/[‘’‛ʻʼ´`]/g, "'")
    .replaceAll(/\p{Pd}/gu, ' ')
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .toUpperCase()
    .replaceAll(/\P{ASCII}/gu, (letter) => LETTERS[letter] ?? letter);
}

/** Makes one spelling of several, e.g. of `SOREN` and `SOEREN`, `HAKON` and `HAAKON`. */
function shorten(folded: string): string {
  return folded.replaceAll("'", '').replaceAll(/(?<=A)[AE]+|(?<=[OU])E+|(?<=D)J/g, '');
}

/** `isExact` is false if the event has the text in another spelling alone, e.g. `ue` for `ü`. */
export type Found = Aggregate & { isExact: boolean };

/** The number of events of a page, and the aggregate of each event that has the text. */
type SearchedPage = { events: number; found: Found[] };

/** Searches the payloads and aggregate ids. */
export async function* findText(database: D1Database, text: string): AsyncGenerator<SearchedPage> {
  const wanted = fold(JSON.stringify(text).slice(1, -1));
  const columns = ['rowid', 'aggregate_type', 'aggregate_id', 'payload'];
  for await (const page of readPages(database, 'events', columns)) {
    const found: Found[] = [];
    for (const { aggregate_type, aggregate_id, payload } of page) {
      const searched = fold(`${payload}${JSON.stringify(aggregate_id)}`);
      const isExact = searched.includes(wanted);
      if (!isExact && !shorten(searched).includes(shorten(wanted))) continue;
      found.push({ type: String(aggregate_type), id: String(aggregate_id), isExact });
    }
    yield { events: page.length, found };
  }
}
