/** Splits rows into batches that D1 takes in one call. Pure. */

/** D1 takes at most 2 MB in one value. A larger row is a batch by itself. */
const ROWS_PER_BATCH = 100;
const BYTES_PER_BATCH = 1_000_000;

/** `bytesOf` returns the approximate size of a row. */
export function* batchesOf<Row>(
  rows: Iterable<Row>,
  bytesOf: (row: Row) => number,
): Generator<Row[]> {
  let batch: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = bytesOf(row);
    if (batch.length === ROWS_PER_BATCH || (batch.length > 0 && bytes + size > BYTES_PER_BATCH)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
