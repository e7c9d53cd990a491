/** Builds the error for a key that is in use for another body, with the paths at which the bodies differ. */

import { ApiError, formatPath, MAX_PROBLEMS, type Problem } from '../http/errors.ts';
import { addHint } from '../http/hints.ts';
import { IDEMPOTENCY_KEY_HEADER } from './request.ts';

const DIFFERS = 'differs from the request that holds the key';

const IN_USE =
  'This Idempotency-Key was used for another body. Send the first body again, or a new key.';

export const DISTINCT_KEYS = 'Give each event its own key.';

/** Builds the 409 `idempotency_key_in_use`. */
export function keyInUse(key = '', differences?: readonly Problem[]): ApiError {
  return new ApiError('idempotency_key_in_use', addHint(IN_USE, findKeyHint(key)), {
    param: IDEMPOTENCY_KEY_HEADER,
    ...(differences && { details: differences }),
  });
}

/**
 * Returns a hint for a key that looks like a template that was not filled in, because such a key is the
 * same for every event.
 */
export function findKeyHint(key: string): string | undefined {
  return /(?<![a-z])(undefined|null|none|nan)(?![a-z])|\{\{|\$\{|%[ds]|\[object /i.test(key)
    ? `The key looks like a template that was not filled in. ${DISTINCT_KEYS}`
    : undefined;
}

/** Returns a problem for each path at which the two bodies differ, in the order of the sent body. */
export function describeDifferences(sent: unknown, stored: unknown): Problem[] {
  return findDifferingPaths(sent, stored).map((path) => ({ path, message: DIFFERS }));
}

/** Returns at most `MAX_PROBLEMS` paths at which two bodies differ, in the order of `a`. */
function findDifferingPaths(a: unknown, b: unknown): string[] {
  const paths: string[] = [];
  const path: (string | number)[] = [];

  const compare = (left: unknown, right: unknown): void => {
    if (paths.length >= MAX_PROBLEMS) return;
    if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) {
      if (left !== right) paths.push(formatPath(path));
      return;
    }
    // In a Map, a name such as `constructor` is like any other.
    const leftFields = new Map<string, unknown>(Object.entries(left));
    const rightFields = new Map<string, unknown>(Object.entries(right));
    for (const name of new Set([...leftFields.keys(), ...rightFields.keys()])) {
      path.push(name);
      compare(leftFields.get(name), rightFields.get(name));
      path.pop();
    }
  };

  compare(a, b);
  return paths;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
