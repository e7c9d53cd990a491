/** Reads a listings file in JSON: its records, and content that JSON.parse would lose. */

import * as z from 'zod';
import { pathOf } from '../../src/http/errors.ts';
import { completeFile } from './read/complete.ts';
import { parseJson } from './read/json.ts';
import { isMap } from './read/listing-schemas.ts';
import { decodeText, parsed, recordName, unreadable } from './read/parse.ts';
import { type ImportProblem, THE_FILE } from './read/problem.ts';
import { listOf } from './read/records.ts';
import type { RawFile, RawRecord, ReadableFile, ReadFile, Section } from './read/types.ts';

const KINDS = { locations: 'location', amenities: 'amenity', properties: 'listing' } as const;

const records = z.array(z.unknown()).default([]);
const keys = z.array(z.string());
const sections = z.strictObject({
  locations: records,
  amenities: records,
  properties: records,
  removed: z.strictObject({ locations: keys, amenities: keys }).exactOptional(),
});

const EMPTY_STORE = { locations: [], amenities: [], summaries: new Map() };

/** Reads the bytes of a listings file in JSON. */
export function readListingsFile(bytes: Uint8Array, { isPatch = false } = {}): ReadFile {
  const decoded = decodeText(bytes, 'UTF-8');
  if ('fault' in decoded) return unreadable([decoded.fault]);
  const { value, losses } = parseJson(decoded.text);
  // Of two sections with one name, it is not known which one was meant.
  const lostSections = losses.filter(({ path }) => path.length <= 1);
  if (lostSections.length > 0) {
    return unreadable(lostSections.map((loss) => ({ ...loss, path: pathOf(loss.path) })));
  }
  const { value: whole, faults } = parsed(sections, value);
  const ofFile = faults.map((fault) => ({ ...fault, value: undefined }));
  if (!isMap(value)) return unreadable(ofFile);

  const raw = (section: Section): RawRecord[] =>
    listOf(value[section]).map((each, index) => ({
      name: recordName({ kind: KINDS[section], place: `${section}[${index}]` }, each),
      value: each,
    }));
  const file: RawFile = {
    isPatch,
    locations: raw('locations'),
    amenities: raw('amenities'),
    properties: raw('properties'),
  };
  const lost = losses.map(({ path, ...fault }): ImportProblem => {
    const [section, index, ...rest] = path;
    const record = isSection(section) ? file[section][Number(index)] : undefined;
    return record === undefined
      ? { record: THE_FILE, path: pathOf(path), ...fault }
      : { record: record.name, path: pathOf(rest), ...fault };
  });
  const problems = [...unreadable(ofFile).problems, ...lost];
  const readable: ReadableFile = { kind: 'read', file, problems, removed: whole?.removed };
  if (!ofFile.some(({ path }) => isSection(path))) return readable;
  const alone = completeFile(readable, EMPTY_STORE, () => [], new Map());
  return { kind: 'unreadable', problems: isPatch ? problems : [...problems, ...alone.problems] };
}

function isSection(name: unknown): name is Section {
  return typeof name === 'string' && Object.hasOwn(KINDS, name);
}
