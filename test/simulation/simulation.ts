/** Runs plans, looks for broken promises, and shortens a plan that breaks one. */

import { countFault, type Service } from './calls.ts';
import type { Random } from './random.ts';
import { START } from './scheduler.ts';
import { type CounterCall, type Exchange, type Fleet, World, type WorldOptions } from './world.ts';

/** Something that happens in a run, at a time after its start. */
export type Operation = {
  atMs: number;
  /** Unique in its plan. The random numbers of the operation depend on the seed and on this alone. */
  name: string;
  /** The share of its calls that go wrong, from 0 to 1. */
  roughness: number;
  /** Kills an isolate, or takes a service out of order. */
  isFault?: boolean;
  perform: (world: World) => unknown;
};

/** All that happens in a run. Without some of its operations it is a plan too. */
export type Plan = WorldOptions & { operations: readonly Operation[]; endMs: number };

/** A promise that was broken, and how. */
export type Violation = { promise: string; how: string };

/** One part of the service: plans that press it, and its promises. */
export type Part = {
  planOf: (seed: string) => Plan;
  /** Makes the final requests, when all operations are over and nothing fails any more. */
  finish?: (world: World) => Promise<void>;
  violationsIn: (world: World, plan: Plan) => Violation[];
};

/** The finding of a seed. */
export type Finding = { plan: Plan; violation: Violation };

/** The extent of an exploration. */
export class Explored {
  runs = 0;
  requests = 0;
  /** Requests that were answered with a 2xx. */
  successes = 0;
  events = 0;
  readonly orders = new Set<number>();

  add({ scheduler, exchanges }: World): void {
    this.runs += 1;
    this.requests += exchanges.length;
    this.successes += exchanges.filter(({ status = 0 }) => status >= 200 && status < 300).length;
    this.events += scheduler.count;
    this.orders.add(scheduler.trace);
  }
}

const ALWAYS = { isAlive: true };
const MAX_TRIALS = 300;

/** Runs the seeds up to `runs`. Returns the finding of the first seed that has one. */
export async function explore(
  part: Part,
  fleet: Fleet,
  runs: number,
  explored = new Explored(),
): Promise<Finding | undefined> {
  for (let seed = 1; seed <= runs; seed += 1) {
    const plan = part.planOf(String(seed));
    const { world, violations } = await run(part, fleet, plan);
    explored.add(world);
    const [violation] = violations;
    if (violation !== undefined) return { plan, violation };
  }
  return undefined;
}

/** Runs one plan. */
export async function run(part: Part, fleet: Fleet, plan: Plan) {
  const world = new World(fleet, plan);
  for (const { atMs, name, roughness, perform } of plan.operations) {
    world.scheduler.schedule(atMs, ALWAYS, () => {
      void world.run(name, roughness, () => perform(world));
    });
  }
  await world.scheduler.runUntil(START + plan.endMs);
  if (part.finish !== undefined) await part.finish(world);
  return { world, violations: part.violationsIn(world, plan) };
}

/**
 * Tells a finding as a failed test shows it: the history of a plan that is as short as possible. Drops
 * operations for as long as the same promise is broken without them.
 */
export async function tell(
  part: Part,
  fleet: Fleet,
  finding: Finding | undefined,
): Promise<string> {
  if (finding === undefined) return '';
  let { plan, violation } = finding;
  const { promise } = violation;
  let trials = 0;
  for (let size = Math.ceil(plan.operations.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < plan.operations.length && trials < MAX_TRIALS; ) {
      trials += 1;
      const shorter = { ...plan, operations: plan.operations.toSpliced(start, size) };
      const { violations } = await run(part, fleet, shorter);
      const same = violations.find((each) => each.promise === promise);
      if (same === undefined) {
        start += size;
        continue;
      }
      plan = shorter;
      violation = same;
    }
  }
  const { world } = await run(part, fleet, plan);
  return `seed ${plan.seed} breaks a promise: ${promise}\n${violation.how}\n${historyOf(world, plan)}`;
}

/** Writes the history of a run, in the order of time. */
function historyOf(world: World, plan: Plan): string {
  const others = plan.operations
    .filter(({ name }) => !world.exchanges.some(({ task }) => task === name))
    .map(({ atMs, name }) => ({ at: START + atMs, text: name }));
  const exchanges = world.exchanges.map((each) => ({ at: each.start, text: textOf(each) }));
  const calls = world.counterCalls.map((each) => ({ at: each.sentAt, text: callTextOf(each) }));
  const clocks = plan.machines
    .map(({ clockOffset, place }, index) => `machine ${index} in ${place}: ${clockOffset} ms`)
    .join(', ');
  const lines = [...others, ...exchanges, ...calls].sort((a, b) => a.at - b.at);
  const history = lines.map(({ at, text }) => `${timeOf(at)} ${text}`);
  return [`clocks: ${clocks}`, ...history].join('\n');
}

function textOf({ isolate, request, start, end, status, body }: Exchange): string {
  const asked = `${isolate}: ${request.label}`;
  if (status === undefined) return `${asked}: no answer`;
  const { id, error, name } = Object(body);
  const what = [status, id ?? error?.code, name].filter((part) => part !== undefined).join(' ');
  const tookMs = end - start;
  return `${asked}: ${what}${tookMs >= 1_000 ? ` after ${(tookMs / 1_000).toFixed(1)} s` : ''}`;
}

function callTextOf({ isolate, method, client, doneAt, answeredAt, answer }: CounterCall): string {
  const done = doneAt === undefined ? 'not done' : `done ${timeOf(doneAt)}`;
  const answered = answeredAt === undefined ? 'not answered' : `answered ${timeOf(answeredAt)}`;
  return `${isolate} calls ${method} of ${client}: ${done}, ${answered}, ${JSON.stringify(answer)}`;
}

/** Writes a true time as seconds since the start. */
export function timeOf(time: number): string {
  return `+${((time - START) / 1_000).toFixed(3)}`;
}

/** Returns machines in one or two places, with clocks up to 2 s from the true time. */
export function machinesOf(random: Random, count: number): Plan['machines'] {
  return Array.from({ length: count }, () => ({
    clockOffset: random.chance(0.3) ? 0 : random.between(-2_000, 2_000),
    place: random.pick(['Madrid', 'Madrid', 'Lisbon']),
  }));
}

/** Kills an isolate. */
export function kill(random: Random, name: string, machines: number, atMs: number): Operation {
  const index = random.between(0, machines - 1);
  return {
    atMs,
    name: `${name}: kills machine ${index}`,
    roughness: 0,
    isFault: true,
    perform: (world) => world.kill(index),
  };
}

/** Takes a service out of order. */
export function outage(name: string, service: Service, atMs: number, forMs: number): Operation {
  return {
    atMs,
    name: `${name}: ${service} is out of order for ${forMs} ms`,
    roughness: 0,
    isFault: true,
    perform: (world) => {
      countFault(`${service}: outages`);
      world.breakDown(service, forMs);
    },
  };
}

/** Lets D1 stall: what is asked meanwhile is never answered. */
export function stall(name: string, atMs: number, forMs: number): Operation {
  return {
    atMs,
    name: `${name}: D1 stalls for ${forMs} ms`,
    roughness: 0,
    isFault: true,
    perform: (world) => {
      countFault('D1: stalls');
      world.stallD1(forMs);
    },
  };
}
