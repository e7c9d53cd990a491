/** Reads a listings file in JSON. Reports content that JSON.parse would lose. */

import { visit } from 'jsonc-parser';
import * as z from 'zod';
import { formatPath } from '../../../src/http/errors.ts';
import { findRepeatedNames } from '../../../src/http/json-text.ts';
import { printable } from '../../command-line/printable.ts';
import { describeError, UserError } from '../../command-line/user-error.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import { parseValue, withKey } from './parse.ts';
import { type FileLocation, type ImportProblem, THE_FILE } from './problem.ts';

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

/** A record as its author wrote it, before it is compared with the store. */
export type InputRecord = {
  location: FileLocation;
  value: unknown;
  /** Result of `computeVersion` for the listing at the time of the export. */
  version?: string | undefined;
  /**
   * Whether a listing has rows for photos, videos or features, but none in the sheet `listings`.
   */
  isAbsent?: boolean;
  /** Whether the record must already be in the store. */
  mustExist?: boolean;
};

/** The records of a listings file, and the problems found in it. */
export type RecordsFile = Record<'locations' | 'amenities' | 'properties', InputRecord[]> & {
  /** `whole` if the records replace the stored ones, `patch` if they are merged into them. */
  form: 'whole' | 'patch';
  /** The id of the export that the file was made from. */
  exportId?: string | undefined;
  problems: ImportProblem[];
  /** Ids of locations and slugs of amenities to remove, unless a listing still shows them. */
  removed: string[];
};

/** Reads a listings file. Throws a `UserError` if it is not JSON. */
export function readListingsFile(
  bytes: Uint8Array,
  form: RecordsFile['form'] = 'whole',
): RecordsFile {
  const { value, losses } = parseJson(bytes);
  const { value: root = sections.parse({}), problems = [] } = parseValue(sections, value);
  const locations = nameRecords('location', 'locations', root.locations);
  const amenities = nameRecords('amenity', 'amenities', root.amenities);
  const properties = nameRecords('listing', 'properties', root.properties).map(takeVersion);
  const all = [...locations, ...amenities, ...properties];
  const locationsByPosition = new Map(all.map(({ location }) => [location.position, location]));
  const lost = losses.map(({ path, message }): ImportProblem => {
    const [section, index, ...rest] = path;
    const location = locationsByPosition.get(`${section}[${index}]`);
    return { location: location ?? THE_FILE, path: formatPath(location ? rest : path), message };
  });
  return {
    form,
    exportId: root.export_id ?? undefined,
    locations,
    amenities,
    properties,
    removed: Object.values(root.removed ?? {}).flat(),
    problems: [...problems.map((problem) => ({ location: THE_FILE, ...problem })), ...lost],
  };
}

/**
 * Moves a listing's version out of its record. An `as_of` that is not a string stays, and is then
 * reported as an unknown field.
 */
function takeVersion({ location, value }: InputRecord): InputRecord {
  if (!isMap(value)) return { location, value };
  const { as_of = null, ...record } = value;
  if (as_of === null) return { location, value: record };
  return typeof as_of === 'string'
    ? { location, value: record, version: as_of }
    : { location, value };
}

function nameRecords(
  kind: FileLocation['kind'],
  section: string,
  values: unknown[],
): InputRecord[] {
  return values.map((value, index) => ({
    location: withKey({ kind, position: `${section}[${index}]` }, value),
    value,
  }));
}

/**
 * A value that JSON.parse would lose. The path begins at the root, e.g. `['properties', 3, 'title',
 * 'en']`.
 */
type Loss = { path: (string | number)[]; message: string };

function parseJson(bytes: Uint8Array): { value: unknown; losses: Loss[] } {
  const text = decode(bytes);
  try {
    return { value: JSON.parse(text), losses: findLosses(text) };
  } catch (error) {
    // V8's parser is not recursive, but the one that finds losses is.
    if (error instanceof RangeError)
      throw new UserError('The file is JSON that is nested too deep.');
    const message = /^\s*[[{]/.test(text)
      ? `The file is not valid JSON (${describeError(error)}). Correct it or export it again.`
      : `The file is neither JSON (${describeError(error)}) nor a workbook. Open a CSV or another table in a spreadsheet program and save it as .xlsx.`;
    throw new UserError(printable(message), { cause: error });
  }
}

/** The tab, which is the lowest control character that text contains. */
const FIRST_TEXT_BYTE = 9;

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch (cause) {
    const message = bytes.some((byte) => byte < FIRST_TEXT_BYTE)
      ? 'The file has an unknown format. Import a workbook (.xlsx or .ods) or JSON.'
      : 'The file is text that is not in UTF-8. Save a table as .xlsx, and JSON in UTF-8.';
    throw new UserError(message, { cause });
  }
}

function findLosses(text: string): Loss[] {
  const message = 'appears twice in the same object';
  const losses = findRepeatedNames(text).map((name): Loss => ({ path: [name], message }));
  visit(text, {
    onLiteralValue: (value, offset, length, _line, _column, path) => {
      if (typeof value !== 'number') return;
      const number = text.slice(offset, offset + length);
      if (!Number.isFinite(value)) {
        losses.push({ path: path(), message: 'is a number that is too large' });
      } else if (isRounded(number, value)) {
        const message = `is a number that JavaScript would round to ${value}`;
        losses.push({ path: path(), message });
      }
    },
  });
  return losses;
}

/**
 * Whether JavaScript would round an integer. An exported 1.2345e20, written as
 * 123450000000000000000, does not count although it is not exact.
 */
function isRounded(number: string, value: number): boolean {
  return /^-?\d+$/.test(number) && number !== String(value) && BigInt(number) !== BigInt(value);
}
