/** The last look at the dependencies, kept so that the endpoint cannot be used to load them. */

import { waitUntil } from 'cloudflare:workers';
import { withDeadline } from '../storage/deadline.ts';
import { checkDependencies } from './dependencies.ts';
import type { Dependencies } from './resource.ts';

const KEPT_MS = 5_000;
/** Above the time limit of any check: only the end of the request that began it can hold one up longer. */
const LOOK_DEADLINE_MS = 3_000;

type Look = { startedAt: number; result: Promise<Dependencies> };

const looks = new WeakMap<Env, Look>();

/** The state of the dependencies, seen at most 5 s ago. All who ask meanwhile share one look. */
export function knownDependencies(env: Env, requestId: string): Promise<Dependencies> {
  const now = Date.now();
  let look = looks.get(env);
  if (look === undefined || Math.abs(now - look.startedAt) >= KEPT_MS) {
    look = { startedAt: now, result: checkDependencies(env, requestId) };
    looks.set(env, look);
    // It outlives the request that began it: others may be waiting.
    waitUntil(look.result);
  }
  return withDeadline(look.result, LOOK_DEADLINE_MS, 'look at the dependencies');
}
