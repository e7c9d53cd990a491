/** Bindings that misbehave, each in one way. All else is the real binding's. */

import { env } from 'cloudflare:workers';
import { type Call, interceptD1 } from './interceptor.ts';

/** D1's text for a fault that passes by itself. */
export const CONNECTION_LOST = 'D1_ERROR: Network connection lost.';
/** A text for a fault that stays, however often the call is repeated. */
export const OUT_OF_ORDER = 'D1_ERROR: out of order';

type Fault = {
  /** The statements are run, and their response is lost. */
  isAfterCommit?: boolean;
  message?: string;
  /** The number of round trips that fail; all of them when left out. */
  times?: number;
};

/** Returns a database whose round trips fail. */
export function failingD1(database: D1Database, fault: Fault = {}): D1Database {
  let left = fault.times ?? Number.POSITIVE_INFINITY;
  return interceptD1(database, async (call) => {
    if (left <= 0) return call();
    left -= 1;
    if (fault.isAfterCommit) await call();
    throw new Error(fault.message ?? OUT_OF_ORDER);
  });
}

/** The binding of a database that is down. */
export const DOWN = { DB: failingD1(env.DB) };

/** Returns a database that waits for `gate` before each round trip. */
export function delayD1(database: D1Database, gate: Promise<unknown>): D1Database {
  return interceptD1(database, async (call) => {
    await gate;
    return call();
  });
}

/** A way in which calls of any binding misbehave. */
export type Misbehaviour = <Result>(call: Call<Result>) => Promise<Result>;

const SLOW_MS = 900;

/** The ways in which any binding misbehaves. Each use makes a fresh one. */
export const MODES = {
  'fails at once': () => failingAtOnce,
  'never responds': () => () => new Promise(() => {}),
  'is slow': () => slowly,
  'fails every second call': () => {
    let calls = 0;
    return (call) => {
      calls += 1;
      return calls % 2 === 1 ? failingAtOnce() : call();
    };
  },
} satisfies Record<string, () => Misbehaviour>;

/** Fails with the text by which D1 says that another try is worth while. */
async function failingAtOnce(): Promise<never> {
  throw new Error(CONNECTION_LOST);
}

async function slowly<Result>(call: Call<Result>): Promise<Result> {
  await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
  return call();
}
