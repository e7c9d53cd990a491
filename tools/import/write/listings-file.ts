/** Writes a listings file in pieces, a record per line. Pure. */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import type { FileListing } from '../read/records.ts';
import type { Removed } from '../read/types.ts';

type Records = {
  locations: readonly Location[];
  amenities: readonly Amenity[];
  /** Only in a file that undoes an import. */
  removed?: Removed;
};

export function* writeListingsFile(
  { locations, amenities, removed }: Records,
  listings: Iterable<FileListing>,
): Generator<string> {
  yield `{\n"locations": [${formatRecords(locations)}],\n"amenities": [${formatRecords(amenities)}],\n`;
  if (removed !== undefined) yield `"removed": ${JSON.stringify(removed)},\n`;
  yield '"properties": [';
  let separator = '';
  for (const listing of listings) {
    yield `${separator}\n${JSON.stringify(listing)}`;
    separator = ',';
  }
  yield '\n]\n}\n';
}

function formatRecords(records: readonly object[]): string {
  return records.map((each) => `\n${JSON.stringify(each)}`).join(',');
}
