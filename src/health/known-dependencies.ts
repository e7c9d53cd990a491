/** Remembers the last look at the dependencies, so that the endpoint cannot be used to load them. */

import { waitUntil } from 'cloudflare:workers';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { withDeadline } from '../storage/deadline.ts';
import { checkDependencies } from './dependencies.ts';
import type { Dependencies } from './resource.ts';

const REMEMBERED_MS = 5_000;
/** The limit is above that of any check: a look takes longer only when the request that began it has ended. */
const LOOK_DEADLINE_MS = 3_000;

type Look = { startedAt: number; result: Promise<Dependencies> };

const looks = new WeakMap<Env, Look>();

/** Returns the state of the dependencies, seen at most 5 s ago. Requests that come meanwhile share one look. */
export function knownDependencies(env: Env, tables: readonly SQLiteTable[]): Promise<Dependencies> {
  const now = Date.now();
  let look = looks.get(env);
  if (look === undefined || Math.abs(now - look.startedAt) >= REMEMBERED_MS) {
    look = { startedAt: now, result: checkDependencies(env, tables) };
    looks.set(env, look);
    // It outlives the request that began it: others may be waiting.
    waitUntil(look.result);
  }
  return withDeadline(look.result, LOOK_DEADLINE_MS, 'look at the dependencies');
}
