/**
 * A listings file, read whole: its records, and everything that is wrong in the file by itself.
 * plan.ts finds what is wrong against the store. Pure.
 */

import * as z from 'zod';
import { pathOf } from '../../src/http/errors.ts';
import { parseWith } from '../../src/http/validate.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { type JsonLoss, lossesOf } from './json-text.ts';
import { keysOf, type RecordKeys } from './keys.ts';
import type { ImportProblem } from './problem.ts';
import { type WrittenListing, writtenAmenity, writtenListing, writtenLocation } from './records.ts';
import { repeatedEntries, repeatedKeys } from './repeats.ts';

type ProblemAtPath = Omit<ImportProblem, 'record'>;

/** A record: its name in messages, the keys in it, and its value when that is valid. */
export type FileRecord<T> = { name: string; keys: RecordKeys; value: T | undefined };

/** The records of a file, valid or not, in its order. */
export type ListingsFile = {
  locations: FileRecord<Location>[];
  amenities: FileRecord<Amenity>[];
  properties: FileRecord<WrittenListing>[];
};

export type ReadFile =
  /** Some or all records could not be looked at, so the file is not compared with the store. */
  | { kind: 'unreadable'; problems: ImportProblem[] }
  | { kind: 'read'; file: ListingsFile; problems: ImportProblem[] };

const records = z.array(z.unknown()).default([]);
const sections = z.strictObject({
  locations: records,
  amenities: records,
  properties: records,
});
/** The sections of a file that has others too, or one that is no list. */
const readableSections = z.object({
  locations: records.catch([]),
  amenities: records.catch([]),
  properties: records.catch([]),
});

/** Reads the bytes of a listings file: every record, and every problem found in the file alone. */
export function readListingsFile(bytes: Uint8Array): ReadFile {
  const content = parseJson(bytes);
  if (!content.ok) return unreadable([{ path: '', message: content.message }]);
  // Nobody can tell which of two sections the records of the other were to replace.
  const lostSections = content.losses.filter(({ path }) => path.length <= 1);
  if (lostSections.length > 0) return unreadable(lostSections.map(atPath));
  const whole = parseWith(sections, content.value);
  const parsed = whole.ok ? whole : parseWith(readableSections, content.value);
  if (!parsed.ok) return unreadable(parsed.problems);

  const problems = whole.ok ? [] : ofTheFile(whole.problems);
  const isWithoutSection = problems.some(({ path }) => path in parsed.value);
  const file: ListingsFile = {
    locations: readSection('locations', writtenLocation, parsed.value.locations, problems),
    amenities: readSection('amenities', writtenAmenity, parsed.value.amenities, problems),
    properties: readSection('properties', writtenListing, parsed.value.properties, problems),
  };
  const inListings = file.properties.flatMap((listing) => [
    ...repeatedEntries(listing),
    ...heroProblems(listing),
  ]);
  const lost = content.losses.map((loss) => lossIn(file, loss));
  const all = [...problems, ...lost, ...repeatedKeys(file), ...inListings];
  return isWithoutSection
    ? { kind: 'unreadable', problems: all }
    : { kind: 'read', file, problems: all };
}

function parseJson(
  bytes: Uint8Array,
): { ok: true; value: unknown; losses: JsonLoss[] } | { ok: false; message: string } {
  let text: string;
  try {
    // The decoder drops a byte order mark at the head.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return { ok: false, message: 'is not UTF-8 text' };
  }
  try {
    return { ok: true, value: JSON.parse(text), losses: lossesOf(text) };
  } catch (error) {
    return { ok: false, message: `is not JSON: ${error instanceof Error ? error.message : ''}` };
  }
}

function unreadable(problems: readonly ProblemAtPath[]): ReadFile {
  return { kind: 'unreadable', problems: ofTheFile(problems) };
}

function ofTheFile(problems: readonly ProblemAtPath[]): ImportProblem[] {
  return problems.map((problem) => ({ record: 'the file', ...problem }));
}

function atPath({ path, message }: JsonLoss): ProblemAtPath {
  return { path: pathOf(path), message };
}

/** Tells a loss by its record, when it is in one. */
function lossIn(file: ListingsFile, { path, message }: JsonLoss): ImportProblem {
  const [section, index, ...rest] = path;
  const records = Object.entries(file).find(([name]) => name === section)?.[1] ?? [];
  const record = typeof index === 'number' ? records[index] : undefined;
  return record === undefined
    ? { record: 'the file', ...atPath({ path, message }) }
    : { record: record.name, ...atPath({ path: rest, message }) };
}

/** Reads the records of a section, and adds what is wrong with them to `problems`. */
function readSection<S extends z.ZodType>(
  section: string,
  schema: S,
  values: readonly unknown[],
  problems: ImportProblem[],
): FileRecord<z.output<S>>[] {
  return values.map((value, index) => {
    const keys = keysOf(value);
    const name = `${section}[${index}]${labelOf(keys)}`;
    const parsed = parseWith(schema, value);
    if (parsed.ok) return { name, keys, value: parsed.value };
    for (const problem of parsed.problems) problems.push({ record: name, ...problem });
    return { name, keys, value: undefined };
  });
}

function labelOf({ slug, id }: RecordKeys): string {
  if (slug !== undefined) return ` (slug ${JSON.stringify(slug)})`;
  return id === undefined ? '' : ` (id ${JSON.stringify(id)})`;
}

function heroProblems({ name, keys }: FileRecord<WrittenListing>): ImportProblem[] {
  if (keys.hero_photo_id === undefined || keys.photos.includes(keys.hero_photo_id)) return [];
  const message = 'must be the id of one of the photos of this listing';
  return [{ record: name, path: 'hero_photo_id', message }];
}
