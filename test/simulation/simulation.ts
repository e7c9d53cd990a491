/** Runs plans and finds broken promises. Shortens a plan that breaks a promise. */

import { Environment, type EnvironmentOptions, type IsolatePool } from './environment.ts';
import type { Random } from './random.ts';
import { START } from './scheduler.ts';

/** One step of a plan, such as a request or an outage. */
export type Operation = {
  atMs: number;
  /**
   * Unique name in the plan. The operation's random numbers depend only on its name and the seed.
   */
  name: string;
  /** Share of the operation's calls that fail or are late, from 0 to 1. */
  faultRate?: number;
  perform: (environment: Environment) => unknown;
};

/** A broken promise. `how` describes what happened. */
export type Violation = { promise: string; how: string };

/** The operations of one run, and a function that finds the promises that the run breaks. */
export type Plan = EnvironmentOptions & {
  operations: readonly Operation[];
  endMs: number;
  findViolations: (environment: Environment) => Violation[];
};

export type Part = (seed: string) => Plan;

/** `without` contains the names of the operations to skip. */
type RunOptions = { without?: ReadonlySet<string>; hasHistory?: boolean };

export async function run(
  part: Part,
  pool: IsolatePool,
  seed: string,
  { without = new Set(), hasHistory = false }: RunOptions = {},
) {
  const plan = part(seed);
  const environment = new Environment(pool, { ...plan, hasHistory });
  for (const { atMs, name, faultRate = 0, perform } of plan.operations) {
    if (without.has(name)) continue;
    environment.scheduler.schedule(atMs, () => {
      void environment.run(name, faultRate, () => perform(environment));
    });
  }
  await environment.scheduler.runUntil(START + plan.endMs);
  return { environment, violations: plan.findViolations(environment) };
}

/**
 * Returns the message of a failed test: the broken promise, and the history of a shortened plan
 * that still breaks it. Drops every operation that is not needed to break the promise.
 */
export async function explain(part: Part, pool: IsolatePool, seed: string, promise: string) {
  const without = new Set<string>();
  const isPromise = (violation: Violation) => violation.promise === promise;
  const { operations, isolates } = part(seed);
  for (const { name } of operations) {
    without.add(name);
    const { violations } = await run(part, pool, seed, { without });
    if (!violations.some(isPromise)) without.delete(name);
  }
  const { environment, violations } = await run(part, pool, seed, { without, hasHistory: true });
  const how = violations.find(isPromise)?.how;
  const clocks = `isolates: ${JSON.stringify(isolates)}`;
  return [`seed ${seed} breaks: ${promise}`, how, clocks, ...environment.history].join('\n');
}

/**
 * Makes isolates in one or two data centres. Their clocks differ from the true time by up to 2 s.
 */
export function makeIsolates(random: Random, count: number): Plan['isolates'] {
  return Array.from({ length: count }, () => ({
    clockOffset: random.chance(0.3) ? 0 : random.between(-2_000, 2_000),
    place: random.pick(['Madrid', 'Madrid', 'Lisbon']),
  }));
}
