/** Parses values with schemas, and reports their problems. */

import type * as z from 'zod';
import { type ReadIssue, readIssues, ZOD_OPTIONS } from '../../../src/http/validation-problems.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import type { FieldProblem, FileLocation } from './problem.ts';

export function parseValue<T>(schema: z.ZodType<T>, value: unknown) {
  const { data, error } = schema.safeParse(value, ZOD_OPTIONS);
  if (error === undefined) return { value: data, problems: [] };
  const fields = 'shape' in schema && isMap(schema.shape) ? Object.keys(schema.shape) : [];
  return { problems: readIssues(error).flatMap((issue) => toProblems(issue, value, fields)) };
}

function toProblems(
  { path, message, unknownName, issue }: ReadIssue,
  root: unknown,
  fields: readonly string[],
): FieldProblem[] {
  if (unknownName !== undefined) {
    const knownNames = issue.path.length === 0 ? fields : [];
    return [{ path, message, unknown: { name: unknownName, knownNames } }];
  }
  const getField = (value: unknown, name: PropertyKey) => Reflect.get(Object(value), name);
  const value = path === '' ? undefined : issue.path.reduce(getField, root);
  const isWrongKind = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  const isMissing = isWrongKind && path !== '' && value === undefined;
  // An id is derived from another key, which then has its own problem.
  if (isMissing && issue.path.at(-1) === 'id') return [];
  return [{ path, message, value, isMissing }];
}

/** Adds the record's first key, such as its slug, to the location of its problems, even if the key is invalid. */
export function withKey(location: FileLocation, record: unknown): FileLocation {
  if (!isMap(record)) return location;
  for (const field of ['slug', 'hid', 'name', 'id']) {
    const value = record[field];
    if (typeof value === 'string' && value !== '') return { ...location, key: { field, value } };
  }
  return location;
}
