/**
 * What a JSON body may not hold although its text is well formed: what JavaScript would alter on
 * reading, and what RFC 8785 cannot write. Pure.
 */

import { MAX_PROBLEMS, type Problem } from './errors.ts';
import { type PathSegment, pathOf } from './problem-path.ts';

/** What `JSON.parse` gives. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

/** The body itself is the first level. */
const MAX_DEPTH = 64;

/** Every problem of a body in the order of the document, at most `MAX_PROBLEMS`. */
export function limitProblemsOf(body: JsonValue): Problem[] {
  const problems: Problem[] = [];
  const place: PathSegment[] = [];
  const report = (message: string) => problems.push({ path: pathOf(place), message });

  const visit = (value: JsonValue, depth: number): void => {
    if (problems.length >= MAX_PROBLEMS) return;
    if (typeof value === 'string') {
      if (!value.isWellFormed()) report('must not contain half of a surrogate pair');
    } else if (typeof value === 'number') {
      if (!canBeHeld(value)) report('is a number that JavaScript cannot hold; send it as a string');
    } else if (typeof value === 'object' && value !== null) {
      if (depth > MAX_DEPTH) report(`is nested deeper than ${MAX_DEPTH} levels`);
      else visitAll(value, depth);
    }
  };
  const visitAll = (value: JsonValue[] | JsonObject, depth: number): void => {
    const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
    for (const [name, child] of entries) {
      place.push(name);
      if (name === '__proto__') report('is a name that must not be used');
      else if (typeof name === 'string' && !name.isWellFormed()) {
        report('is a name with half of a surrogate pair');
      } else visit(child, depth + 1);
      place.pop();
    }
  };

  visit(body, 1);
  return problems;
}

/** Neither an overflow nor an integer beyond ±(2^53−1), which may be another than the one sent. */
function canBeHeld(number: number): boolean {
  return Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
}
