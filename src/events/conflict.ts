/**
 * The refusal of a body whose key another body holds, and the paths at which the two bodies differ. It shows paths and
 * never values. Pure.
 */

import { ApiError, MAX_PROBLEMS, type PathSegment, type Problem, pathOf } from '../http/errors.ts';
import { IDEMPOTENCY_KEY_HEADER } from './request.ts';

const DIFFERS = 'differs from the request that holds the key';

/** 409 `idempotency_key_in_use`. `differences` is left out when the body that holds the key cannot be read. */
export function keyInUse(differences?: readonly Problem[]): ApiError {
  return new ApiError(
    'idempotency_key_in_use',
    'This Idempotency-Key was used for another body. Send the first body again, or a new key.',
    { param: IDEMPOTENCY_KEY_HEADER, ...(differences && { details: differences }) },
  );
}

/**
 * Returns the paths at which a refused body differs from the body that holds the key.
 *
 * `held` is a parsed body: its UUIDs are in lower case. The refused body is compared in its parsed form first. If the
 * two are equal, they differ in the case of a UUID only. The path is then known if the body as it was `sent` has the
 * capitals, and not if the first body had them.
 */
export function conflictDetails(held: unknown, parsed: unknown, sent: unknown): Problem[] {
  const inParsed = differingPaths(parsed, held);
  const paths = inParsed.length > 0 ? inParsed : differingPaths(sent, held);
  if (paths.length === 0) return [{ path: '', message: `${DIFFERS} in the case of a UUID` }];
  return paths.map((path) => ({ path, message: DIFFERS }));
}

/** Returns the paths at which two JSON values differ, in the order of `a`, at most `MAX_PROBLEMS`. */
function differingPaths(a: unknown, b: unknown): string[] {
  const paths: string[] = [];
  const path: PathSegment[] = [];

  const compare = (left: unknown, right: unknown): void => {
    if (paths.length >= MAX_PROBLEMS) return;
    if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) {
      if (left !== right) paths.push(pathOf(path));
      return;
    }
    const [inLeft, inRight] = [membersOf(left), membersOf(right)];
    for (const name of new Set([...inLeft.keys(), ...inRight.keys()])) {
      path.push(name);
      compare(inLeft.get(name), inRight.get(name));
      path.pop();
    }
  };

  compare(a, b);
  return paths;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Returns name or index → value. A Map, because a name may be `constructor` or the like. */
function membersOf(container: object): Map<string, unknown> {
  return new Map(Object.entries(container));
}
