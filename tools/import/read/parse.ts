/** Parses values, or finds their faults. Pure. */

import type * as z from 'zod';
import { IN_WORDS, readIssues } from '../../../src/http/validation-problems.ts';
import { isMap } from './listing-schemas.ts';
import type { Fault, RecordName } from './problem.ts';

export function parseValue<T>(schema: z.ZodType<T>, value: unknown) {
  const { data, error } = schema.safeParse(value, IN_WORDS);
  if (error === undefined) return { value: data, faults: [] };
  const fields = 'shape' in schema && isMap(schema.shape) ? Object.keys(schema.shape) : [];
  return { faults: readIssues(error).flatMap((found) => toFaults(found, value, fields)) };
}

function toFaults(
  { path, message: sentence, unknown, issue }: ReturnType<typeof readIssues>[number],
  root: unknown,
  fields: readonly string[],
): Fault[] {
  if (unknown !== undefined) {
    const known = issue.path.length === 0 ? fields : [];
    return [{ path, sentence, unknown: { name: unknown, known } }];
  }
  const fieldOf = (value: unknown, name: PropertyKey) => Reflect.get(Object(value), name);
  const value = path === '' ? undefined : issue.path.reduce(fieldOf, root);
  const isWrongKind = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  const isMissing = isWrongKind && path !== '' && value === undefined;
  // An id follows from another key, which has its own fault then.
  if (isMissing && issue.path.at(-1) === 'id') return [];
  return [{ path, sentence, value, isMissing }];
}

/** Adds the first key of the record, valid or not. */
export function withKey(name: RecordName, record: unknown): RecordName {
  if (!isMap(record)) return name;
  for (const field of ['slug', 'hid', 'name', 'id']) {
    const value = record[field];
    if (typeof value === 'string' && value !== '') return { ...name, key: { field, value } };
  }
  return name;
}
