/** Makes bindings that misbehave in one way and otherwise act like the real ones. */

import { env } from 'cloudflare:workers';
import { type Call, interceptD1 } from './interceptor.ts';

/** A D1 error message that the service treats as transient. */
export const CONNECTION_LOST = 'D1_ERROR: Network connection lost.';
/** A D1 error message that the service does not treat as transient. */
export const OUT_OF_ORDER = 'D1_ERROR: out of order';

type Fault = {
  /** Whether the statements take effect before the round trip fails. */
  isAfterCommit?: boolean;
  message?: string;
  /** Number of round trips that fail; undefined if all of them fail. */
  times?: number;
};

export function failingD1(database: D1Database, fault: Fault = {}): D1Database {
  let left = fault.times ?? Number.POSITIVE_INFINITY;
  return interceptD1(database, async (call) => {
    if (left <= 0) return call();
    left -= 1;
    if (fault.isAfterCommit) await call();
    throw new Error(fault.message ?? OUT_OF_ORDER);
  });
}

/** Bindings with a database that always fails. */
export const DOWN = { DB: failingD1(env.DB) };

/** Returns a database that waits for `signal` before each round trip. */
export function delayD1(database: D1Database, signal: Promise<unknown>): D1Database {
  return interceptD1(database, async (call) => {
    await signal;
    return call();
  });
}

/** A replacement for a binding's calls. It can make, fail or delay each call. */
export type Misbehaviour = <Result>(call: Call<Result>) => Promise<Result>;

const SLOW_MS = 900;

/** The ways in which a binding can misbehave. Each function starts with a fresh state. */
export const MODES = {
  'fails at once': () => failImmediately,
  'never responds': () => () => new Promise(() => {}),
  'is slow': () => callSlowly,
  'fails every second call': () => {
    let calls = 0;
    return (call) => {
      calls += 1;
      return calls % 2 === 1 ? failImmediately() : call();
    };
  },
} satisfies Record<string, () => Misbehaviour>;

async function failImmediately(): Promise<never> {
  throw new Error(CONNECTION_LOST);
}

async function callSlowly<Result>(call: Call<Result>): Promise<Result> {
  await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
  return call();
}
