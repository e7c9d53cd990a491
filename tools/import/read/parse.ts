/** Parses a value by its schema, or finds every fault of the value. Pure. */

import type * as z from 'zod';
import { pathOf } from '../../../src/http/errors.ts';
import { IN_WORDS } from '../../../src/http/validate.ts';
import { isMap } from './listing-schemas.ts';
import type { Fault } from './problem.ts';

/** Returns the parsed value, or every fault of it. The faults show the values in `raw`. */
export function parsed<T>(
  schema: z.ZodType<T>,
  value: unknown,
  raw = value,
): { value?: T; faults: Fault[] } {
  const { data, error } = schema.safeParse(value, IN_WORDS);
  if (error === undefined) return { value: data, faults: [] };
  const fields = 'shape' in schema && isMap(schema.shape) ? Object.keys(schema.shape) : [];
  return { faults: error.issues.flatMap((issue) => faultsOfIssue(issue, raw, fields)) };
}

function faultsOfIssue(issue: z.core.$ZodIssue, root: unknown, fields: readonly string[]): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? fields : [];
    return issue.keys.map((key) => {
      const path = pathOf([...issue.path.map(String), key]);
      return { path, code: 'unknown_field', unknown: { name: key, known } };
    });
  }
  const path = pathOf(issue.path.map(String));
  const value = path === '' ? undefined : issue.path.reduce<unknown>(fieldOf, root);
  // The reader of the text reports it.
  if (typeof value === 'number' && !Number.isFinite(value)) return [];
  const isWrongKind = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  const isMissing = isWrongKind && path !== '' && value === undefined;
  // An id follows from another key, which has its own fault then.
  if (isMissing && issue.path.at(-1) === 'id') return [];
  return [{ path, code: isMissing ? 'missing' : 'invalid', details: [issue.message], value }];
}

function fieldOf(value: unknown, name: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
