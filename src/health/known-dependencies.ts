/** Remembers the last look at the dependencies, so that the endpoint cannot be used to load them. */

import { waitUntil } from 'cloudflare:workers';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { firstWithin } from '../storage/deadline.ts';
import { checkDependencies } from './dependencies.ts';
import type { Dependencies } from './resource.ts';

const REMEMBERED_MS = 5_000;
/** Above `CHECK_DEADLINE_MS`. A longer look was cancelled with its request. */
const LOOK_DEADLINE_MS = 3_000;

type Look = { startedAt: number; result: Promise<Dependencies> };

const looks = new WeakMap<Env, Look>();

/** Returns the state of the dependencies, seen at most 5 s ago. Requests that come meanwhile share one look. */
export async function knownDependencies(
  env: Env,
  tables: readonly SQLiteTable[],
): Promise<Dependencies> {
  const look = lastLook(env) ?? beginLook(env, tables);
  const seen = await firstWithin(look.result, LOOK_DEADLINE_MS);
  if (seen !== undefined) return seen;
  // Another follower may have begun the next look already.
  if (looks.get(env) === look) looks.delete(env);
  return knownDependencies(env, tables);
}

function lastLook(env: Env): Look | undefined {
  const look = looks.get(env);
  if (look === undefined) return undefined;
  return Math.abs(Date.now() - look.startedAt) < REMEMBERED_MS ? look : undefined;
}

function beginLook(env: Env, tables: readonly SQLiteTable[]): Look {
  const look = { startedAt: Date.now(), result: checkDependencies(env, tables) };
  looks.set(env, look);
  // It outlives the request that began it: others may be waiting.
  waitUntil(look.result);
  return look;
}
