/** Rows on their way into the store, as JSON, and how many of them D1 takes at once. Pure. */

import { keyColumnsOf } from '../../src/properties/row.ts';
import type { Source } from '../../src/properties/source.ts';

/** Bounds of a batch, which travels as one bound JSON text: D1 takes 2 MB. A longer row travels alone. */
const ROWS_A_BATCH = 100;
const BYTES_A_BATCH = 1_000_000;

/** The largest row that is accepted: D1 holds 2 MB a row, and its document comes to its source. */
export const MAX_ROW_BYTES = 900_000;

/** A listing, and the row to be staged for it: JSON of the columns that its source gives. */
export type StagedRow = { listing: Source; json: string };

/** The row to be staged for a listing. */
export function stagedRowOf(listing: Source): StagedRow {
  const row = { ...keyColumnsOf(listing), source: listing };
  return { listing, json: JSON.stringify(row) };
}

/** Splits rows into batches that D1 can bind. */
export function* batchesOf<Row extends { json: string }>(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(row.json);
    if (batch.length === ROWS_A_BATCH || (batch.length > 0 && bytes + size > BYTES_A_BATCH)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** A batch as one JSON array, for `json_each`. */
export function jsonOf(batch: readonly { json: string }[]): string {
  return `[${batch.map(({ json }) => json).join()}]`;
}
