/** Reads a listings file in JSON: its records, and content that JSON.parse would lose. */

import { isUtf8 } from 'node:buffer';
import { visit } from 'jsonc-parser';
import * as z from 'zod';
import { formatPath } from '../../../src/http/errors.ts';
import { repeatedNames } from '../../../src/http/json-text.ts';
import { isMap } from './listing-schemas.ts';
import { parseValue, unreadable, withKey } from './parse.ts';
import { type Fault, type ImportProblem, type RecordName, THE_FILE } from './problem.ts';
import type { FileForm, ParsedFile, RawRecord } from './types.ts';

const records = z.array(z.unknown()).default([]);
const keys = z.array(z.string()).default([]);
const sections = z.strictObject({
  locations: records,
  amenities: records,
  properties: records,
  export_id: z.string().nullish(),
  operation: z.string().nullish(),
  removed: z.strictObject({ locations: keys, amenities: keys }).optional(),
});

export function readListingsFile(bytes: Uint8Array, form: FileForm = 'whole'): ParsedFile {
  if (!isUtf8(bytes)) return unreadable([{ path: '', code: 'not_utf8' }]);
  const { value, losses } = parseJson(new TextDecoder().decode(bytes));
  // The whole text is lost, or one of two values with the same name.
  const lostSections = losses.filter(({ path }) => path.length <= 1);
  if (lostSections.length > 0) {
    return unreadable(lostSections.map((loss) => ({ ...loss, path: formatPath(loss.path) })));
  }
  const { value: root, faults } = parseValue(sections, value);
  if (root === undefined) return unreadable(faults);
  const locations = nameRecords('location', 'locations', root.locations);
  const amenities = nameRecords('amenity', 'amenities', root.amenities);
  const properties = nameRecords('listing', 'properties', root.properties).map(takeVersion);
  const all = [...locations, ...amenities, ...properties];
  const names = new Map(all.map(({ name }) => [name.place, name]));
  const problems = losses.map(({ path, ...fault }): ImportProblem => {
    const [section, index, ...rest] = path;
    const record = names.get(`${section}[${index}]`);
    const pathInRecord = formatPath(record ? rest : path);
    return { record: record ?? THE_FILE, path: pathInRecord, ...fault };
  });
  const removed = Object.values(root.removed ?? {}).flat();
  // The export of an empty store has none either.
  if (all.length + removed.length === 0 && root.export_id == null) {
    return unreadable([{ path: '', code: 'no_record' }]);
  }
  const exportId = root.export_id ?? undefined;
  return {
    kind: 'readable',
    form,
    exportId,
    locations,
    amenities,
    properties,
    removed,
    problems,
  };
}

/** The version is not part of the record. Another value of `as_of` is an unknown field. */
function takeVersion({ name, value }: RawRecord): RawRecord {
  if (!isMap(value)) return { name, value };
  const { as_of = null, ...record } = value;
  if (as_of === null) return { name, value: record };
  return typeof as_of === 'string' ? { name, value: record, version: as_of } : { name, value };
}

function nameRecords(kind: RecordName['kind'], section: string, values: unknown[]): RawRecord[] {
  return values.map((value, index) => ({
    name: withKey({ kind, place: `${section}[${index}]` }, value),
    value,
  }));
}

/** The path is from the root, e.g. `['properties', 3, 'title', 'en']`. */
type Loss = Pick<Fault, 'code' | 'details'> & { path: (string | number)[] };

/** A text that cannot be read is a loss. */
function parseJson(text: string): { value?: unknown; losses: Loss[] } {
  try {
    return { value: JSON.parse(text), losses: findLosses(text) };
  } catch (error) {
    // `visit` calls itself for each level of a text.
    if (error instanceof RangeError) return { losses: [{ path: [], code: 'too_deep' }] };
    const details = { why: error instanceof Error ? error.message : '' };
    return { losses: [{ path: [], code: 'not_json', details }] };
  }
}

function findLosses(text: string): Loss[] {
  const losses = repeatedNames(text).map((name): Loss => ({ path: [name], code: 'twice' }));
  visit(text, {
    onLiteralValue: (value, offset, length, _line, _column, path) => {
      if (typeof value !== 'number') return;
      const number = text.slice(offset, offset + length);
      if (!Number.isFinite(value)) losses.push({ path: path(), code: 'too_large_number' });
      else if (isRounded(number, value)) {
        losses.push({ path: path(), code: 'rounded', details: { number: value } });
      }
    },
  });
  return losses;
}

/** An export writes 1.2345e20 as 123450000000000000000, which is not its exact value. */
function isRounded(number: string, value: number): boolean {
  return /^-?\d+$/.test(number) && number !== String(value) && BigInt(number) !== BigInt(value);
}
