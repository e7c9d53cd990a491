/** The error of a body whose key another body holds: the paths of the differences. Pure. */

import { ApiError, formatPath, MAX_PROBLEMS, type Problem } from '../http/errors.ts';
import { addHint } from '../http/hints.ts';
import { IDEMPOTENCY_KEY_HEADER } from './request.ts';

const DIFFERS = 'differs from the request that holds the key';

const IN_USE =
  'This Idempotency-Key was used for another body. Send the first body again, or a new key.';

/** 409 `idempotency_key_in_use`. */
export function keyInUse(key = '', differences?: readonly Problem[]): ApiError {
  return new ApiError('idempotency_key_in_use', addHint(IN_USE, findKeyHint(key)), {
    param: IDEMPOTENCY_KEY_HEADER,
    ...(differences && { details: differences }),
  });
}

/** A template that was not filled in gives all events of its sender one key. */
export function findKeyHint(key: string): string | undefined {
  return /(?<![a-z])(undefined|null|none|nan)(?![a-z])|\{\{|\$\{|%[ds]|\[object /i.test(key)
    ? 'The key looks like a template that was not filled in: each event needs a key of its own.'
    : undefined;
}

/** Names the differences: the paths of the sent body come first. */
export function conflictDetails(sent: unknown, stored: unknown): Problem[] {
  return differingPaths(sent, stored).map((path) => ({ path, message: DIFFERS }));
}

/** In the order of `a`, at most `MAX_PROBLEMS`. */
function differingPaths(a: unknown, b: unknown): string[] {
  const paths: string[] = [];
  const path: (string | number)[] = [];

  const compare = (left: unknown, right: unknown): void => {
    if (paths.length >= MAX_PROBLEMS) return;
    if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) {
      if (left !== right) paths.push(formatPath(path));
      return;
    }
    // A name may be `constructor`.
    const inLeft = new Map<string, unknown>(Object.entries(left));
    const inRight = new Map<string, unknown>(Object.entries(right));
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
