/**
 * The limits of a well-formed JSON body: JavaScript must be able to read it unaltered, and RFC 8785
 * to write it. Pure.
 */

import { MAX_PROBLEMS, type Problem } from './errors.ts';
import { type PathSegment, pathOf } from './problem-path.ts';

/** A result of `JSON.parse`. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

/** Levels of nesting. The body itself is the first. */
const MAX_DEPTH = 64;

/** Returns the problems of a body in the order of the document, at most `MAX_PROBLEMS`. */
export function limitProblemsOf(body: JsonValue): Problem[] {
  const problems: Problem[] = [];
  const path: PathSegment[] = [];
  const report = (message: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ path: pathOf(path), message });
  };

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
      path.push(name);
      if (name === '__proto__') report('is a name that must not be used');
      else if (typeof name === 'string' && !name.isWellFormed()) {
        report('is a name with half of a surrogate pair');
      } else visit(child, depth + 1);
      path.pop();
    }
  };

  visit(body, 1);
  return problems;
}

/** Refuses an overflow, and an integer beyond ±(2^53−1), which may not be the one that was sent. */
function canBeHeld(number: number): boolean {
  return Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
}
