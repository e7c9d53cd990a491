/** Runs plans, looks for broken promises, and shortens a plan that breaks one. */

import { type Fleet, World, type WorldOptions } from './environment.ts';
import type { Random } from './random.ts';
import { START } from './scheduler.ts';

/** Something that happens in a run, at a time after its start. */
export type Operation = {
  atMs: number;
  /**
   * Unique in its plan. The random numbers of the operation depend on the seed and on this alone.
   */
  name: string;
  /** The share of its calls that go wrong, from 0 to 1. */
  roughness?: number;
  perform: (world: World) => unknown;
};

/** A promise that was broken, and how. */
export type Violation = { promise: string; how: string };

/** All that happens in one run, and the promises. */
export type Plan = WorldOptions & {
  operations: readonly Operation[];
  endMs: number;
  violationsIn: (world: World) => Violation[];
};

/** Makes the plan of a seed, for one run. */
export type Part = (seed: string) => Plan;

/** Runs the plan of a seed, without some of its operations. */
export async function run(part: Part, fleet: Fleet, seed: string, without = new Set<string>()) {
  const plan = part(seed);
  const world = new World(fleet, plan);
  for (const { atMs, name, roughness = 0, perform } of plan.operations) {
    if (without.has(name)) continue;
    world.scheduler.schedule(atMs, () => {
      void world.run(name, roughness, () => perform(world));
    });
  }
  await world.scheduler.runUntil(START + plan.endMs);
  return { world, violations: plan.violationsIn(world) };
}

/**
 * Explains a broken promise as a failed test shows it: the history of a short plan. Drops each
 * operation without which the promise is broken too.
 */
export async function explain(part: Part, fleet: Fleet, seed: string, promise: string) {
  const without = new Set<string>();
  const isPromise = (violation: Violation) => violation.promise === promise;
  const { operations, machines } = part(seed);
  for (const { name } of operations) {
    without.add(name);
    const { violations } = await run(part, fleet, seed, without);
    if (!violations.some(isPromise)) without.delete(name);
  }
  const { world, violations } = await run(part, fleet, seed, without);
  const how = violations.find(isPromise)?.how;
  const clocks = `machines: ${JSON.stringify(machines)}`;
  return [`seed ${seed} breaks: ${promise}`, how, clocks, ...world.history].join('\n');
}

/** Returns machines in one or two places, with clocks up to 2 s from the true time. */
export function machinesOf(random: Random, count: number): Plan['machines'] {
  return Array.from({ length: count }, () => ({
    clockOffset: random.chance(0.3) ? 0 : random.between(-2_000, 2_000),
    place: random.pick(['Madrid', 'Madrid', 'Lisbon']),
  }));
}
