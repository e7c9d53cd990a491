/** Runs plans, finds broken promises, and shortens a plan that breaks one. */

import { Environment, type EnvironmentOptions, type IsolatePool } from './environment.ts';
import type { Random } from './random.ts';
import { START } from './scheduler.ts';

/** A request, or another event that the plan of a run contains. */
export type Operation = {
  /** Time after the start of the run. */
  atMs: number;
  /** Unique in its plan. The random numbers of the operation depend only on it and on the seed. */
  name: string;
  /** Share of its calls that fail or are late, from 0 to 1. */
  faultRate?: number;
  perform: (environment: Environment) => unknown;
};

/** A broken promise. `how` describes the case. */
export type Violation = { promise: string; how: string };

/** The operations of one run, and the check of its promises. */
export type Plan = EnvironmentOptions & {
  operations: readonly Operation[];
  endMs: number;
  findViolations: (environment: Environment) => Violation[];
};

/** Makes the plan of one run from a seed. */
export type Part = (seed: string) => Plan;

/** `without` has the names of the operations to skip. */
type RunOptions = { without?: ReadonlySet<string>; hasHistory?: boolean };

/** Runs the plan of a seed. */
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
 * Explains a broken promise by the history of a short plan, for the message of the failed test. Drops
 * each operation that is not needed to break the promise.
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

/** Returns isolates in one or two data centres. Their clocks are up to 2 s from the true time. */
export function makeIsolates(random: Random, count: number): Plan['isolates'] {
  return Array.from({ length: count }, () => ({
    clockOffset: random.chance(0.3) ? 0 : random.between(-2_000, 2_000),
    place: random.pick(['Madrid', 'Madrid', 'Lisbon']),
  }));
}
