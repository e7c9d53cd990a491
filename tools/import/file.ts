/** Reads a listings file in JSON: its records, and content that JSON.parse would lose. */

import { visit } from 'jsonc-parser';
import * as z from 'zod';
import { formatPath } from '../../src/http/errors.ts';
import { decodeText, parseValue, unreadable, withKey } from './read/parse.ts';
import { type Fault, type ImportProblem, THE_FILE } from './read/problem.ts';
import type { ParsedFile, RawRecord, Section } from './read/types.ts';

const KINDS = { locations: 'location', amenities: 'amenity', properties: 'listing' } as const;

const records = z.array(z.unknown()).default([]);
const keys = z.array(z.string());
const sections = z.strictObject({
  locations: records,
  amenities: records,
  properties: records,
  removed: z.strictObject({ locations: keys, amenities: keys }).exactOptional(),
});

/** Reads the bytes of a listings file in JSON. */
export function readListingsFile(bytes: Uint8Array, { isPatch = false } = {}): ParsedFile {
  const decoded = decodeText(bytes, 'UTF-8');
  if ('fault' in decoded) return unreadable([decoded.fault]);
  const { value, losses } = parseJson(decoded.text);
  // Of two sections with one name, it is not known which one was meant.
  const lostSections = losses.filter(({ path }) => path.length <= 1);
  if (lostSections.length > 0) {
    return unreadable(lostSections.map((loss) => ({ ...loss, path: formatPath(loss.path) })));
  }
  const { value: root, faults } = parseValue(sections, value);
  if (root === undefined) return unreadable(faults);
  const listRecords = (section: Section): RawRecord[] =>
    root[section].map((each, index) => ({
      name: withKey({ kind: KINDS[section], place: `${section}[${index}]` }, each),
      value: each,
    }));
  const locations = listRecords('locations');
  const amenities = listRecords('amenities');
  const properties = listRecords('properties');
  const all = [...locations, ...amenities, ...properties];
  const names = new Map(all.map(({ name }) => [name.place, name]));
  const problems = losses.map(({ path, ...fault }): ImportProblem => {
    const [section, index, ...rest] = path;
    const record = names.get(`${section}[${index}]`) ?? THE_FILE;
    return { record, path: formatPath(rest), ...fault };
  });
  const { removed } = root;
  return { kind: 'readable', isPatch, locations, amenities, properties, removed, problems };
}

/** A lost value, with its path from the root, e.g. `['properties', 3, 'title', 'en']`. */
type Loss = Pick<Fault, 'code' | 'details'> & { path: (string | number)[] };

/** Losses are in the order of the text. A text that cannot be read is a loss. */
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

/** Finds repeated fields, integers that JavaScript rounds, and numbers that are too large. */
function findLosses(text: string): Loss[] {
  const losses: Loss[] = [];
  const objects: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty: (name, _offset, _length, _line, _column, path) => {
      const names = objects.at(-1);
      if (names?.has(name)) losses.push({ path: [...path(), name], code: 'twice' });
      names?.add(name);
    },
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
