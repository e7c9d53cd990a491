/** Where two bodies differ: paths only, never values. Pure. */

import { MAX_PROBLEMS } from '../http/errors.ts';
import { type PathSegment, pathOf } from '../http/problem-path.ts';

/** The paths at which two JSON values differ, in the order of `a`, at most `MAX_PROBLEMS`. */
export function differingPaths(a: unknown, b: unknown): string[] {
  const paths: string[] = [];
  const place: PathSegment[] = [];

  const compare = (left: unknown, right: unknown): void => {
    if (paths.length >= MAX_PROBLEMS) return;
    if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) {
      if (left !== right) paths.push(pathOf(place));
      return;
    }
    const [inLeft, inRight] = [membersOf(left), membersOf(right)];
    for (const name of new Set([...inLeft.keys(), ...inRight.keys()])) {
      place.push(name);
      compare(inLeft.get(name), inRight.get(name));
      place.pop();
    }
  };

  compare(a, b);
  return paths;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** By name, or by index: a Map, since a name may be one that every object inherits. */
function membersOf(container: object): Map<string, unknown> {
  return new Map(Object.entries(container));
}
