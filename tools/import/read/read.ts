/** Reads the stored records, and completes the file with them. */

import type { Source } from '../../../src/properties/source.ts';
import { completeFile, indexListings } from './complete.ts';
import type { ImportProblem } from './problem.ts';
import { readKeys } from './records.ts';
import { type Catalogue, readCatalogue, readListings } from './store.ts';
import type { ReadableFile, Removed, WholeFile } from './types.ts';

/** The records of a file, all whole, and every problem of them. */
export type CompleteRecords = {
  file: WholeFile;
  isPatch: boolean;
  removed: Removed;
  problems: ImportProblem[];
};

export async function read(
  input: ReadableFile,
  database: D1Database,
): Promise<CompleteRecords & { stored: Catalogue }> {
  const { isPatch, properties } = input.file;
  const stored = await readCatalogue(database);
  const find = indexListings(stored);
  const sources = new Map<string, Source>();
  if (isPatch) {
    const named = new Set(properties.flatMap(({ value }) => find(readKeys(value)).slice(0, 1)));
    for await (const { id, listing } of readListings(database, [...named]))
      sources.set(id, listing);
  }
  const { file, problems } = completeFile(input, stored, find, sources);
  const removed = input.removed ?? { locations: [], amenities: [] };
  return { stored, file, isPatch, removed, problems: distinct(input.problems, problems) };
}

/** Leaves out later problems of a value: an unreadable cell is a wrong value too. */
export function distinct(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const describePlace = ({ record, path }: ImportProblem) => `${record.place} ${path}`;
  const known = new Set(first.map(describePlace));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(describePlace(each)))];
}
