/**
 * Plans that press the rate limit, and its promises (docs/reference/conventions.md): never more than the limit
 * passes in a window, a client of one isolate gets exactly its limit, and a refusal ends with its window.
 */

import { Random } from './random.ts';
import {
  kill,
  machinesOf,
  type Operation,
  outage,
  type Part,
  type Plan,
  timeOf,
  type Violation,
} from './simulation.ts';
import type { CounterCall, Exchange, World } from './world.ts';

const LIMIT = 50;
const WINDOW_MS = 60_000;
/**
 * The first lease of a window, a twenty-fifth of the limit, is not stored. An object that loses its memory forgets
 * it, unless it is idle and the isolate that it serves tells it.
 */
const FIRST_LEASE = 2;
/** The longest that a request waits for its counter, and the pause between two of its looks. */
const LONGEST_WAIT_MS = 1_002;
/** The requests that an isolate may hold while another one needs them: a tenth of the limit. */
const LARGEST_LEASE = 5;

export const RATE_LIMIT: Part = { planOf, violationsIn };

function planOf(seed: string): Plan {
  const random = new Random(`limit ${seed}`);
  const machines = machinesOf(random, random.between(1, 3));
  const isCalm = random.chance(0.7);
  const isSwift = random.chance(0.6);
  const clients = ['203.0.113.1', '203.0.113.2'].slice(0, random.between(1, 2));
  const operations: Operation[] = [];
  const starts = [
    0,
    random.between(500, 30_000),
    56_000,
    60_000,
    random.between(62_000, 115_000),
    118_000,
  ];
  for (const [burst, startMs] of starts.entries()) {
    if (burst > 0 && random.chance(0.3)) continue;
    const client = random.pick(clients);
    const ownMachine = random.between(0, machines.length - 1);
    const isSpread = random.chance(0.5);
    const spreadMs = random.pick([0, 100, 2_000, 6_000]);
    for (let index = random.pick([1, 3, 8, 20, 40, 60]); index > 0; index -= 1) {
      const machine = isSpread ? random.between(0, machines.length - 1) : ownMachine;
      const comesBack = random.chance(0.1);
      operations.push({
        atMs: startMs + random.between(0, spreadMs),
        name: `${burst}.${index}`,
        roughness: isCalm ? 0 : random.pick([0, 0, 0.2, 0.5]),
        perform: (world) => request(world, client, machine, comesBack),
      });
    }
  }
  for (const client of clients) {
    for (let index = random.pick([0, 0, 1, 2]); index > 0; index -= 1) {
      operations.push({
        atMs: random.pick(starts) + random.between(0, 5_000),
        name: `evicts the object of ${client}, ${index}`,
        roughness: 0,
        perform: (world) => world.evict(client),
      });
    }
  }
  if (!isCalm) {
    const atMs = random.between(0, 60_000);
    operations.push(kill(random, 'kill', machines.length, atMs));
    if (random.chance(0.3)) operations.push(outage('outage', 'counter', atMs, 5_000));
  }
  if (random.chance(0.6)) operations.push(...pausing(random, machines.length));
  const vars = { RATE_LIMIT_DEFAULT: String(LIMIT) };
  return { seed, machines, vars, operations, isSwift, endMs: 400_000 };
}

/** A client of one isolate that pauses until its object has lost its memory, and then sends all that it can. */
function pausing(random: Random, machines: number): Operation[] {
  const machine = random.between(0, machines - 1);
  const startMs = random.between(0, 100_000);
  const counts = [1, ...Array.from({ length: 3 }, () => random.between(1, 3)), 60];
  return counts.flatMap((count, burst) =>
    Array.from({ length: count }, (_, index) => ({
      atMs: startMs + burst * 13_000 + random.between(0, 100),
      name: `pausing ${burst}.${index}`,
      roughness: 0,
      perform: (world: World) => request(world, '203.0.113.3', machine, false),
    })),
  );
}

async function request(world: World, client: string, machine: number, comesBack: boolean) {
  const label = `request of ${client}`;
  const asked = { method: 'GET', path: '/api/health', client, label } as const;
  const { status, headers } = await world.send(machine, asked);
  if (status !== 429 || !comesBack) return;
  const waitMs = Number(headers?.get('Retry-After')) * 1_000;
  await new Promise<void>((resolve) =>
    world.scheduler.schedule(waitMs, { isAlive: true }, resolve),
  );
  await world.send(machine, { ...asked, label: `${label}, back after Retry-After` });
}

/** A window of one client as its object counted it, from its first request to its end, in true time. */
type Window = { start: number; end: number; isForgotten: boolean; mayPass: number };

function violationsIn(world: World, plan: Plan): Violation[] {
  const clients = new Set(world.exchanges.map(({ request }) => request.client));
  return [
    ...[...clients].flatMap((client) => {
      const windows = windowsOf(world, client, isFaultless(plan));
      const exchanges = world.exchanges.filter((each) => each.request.client === client);
      const refused = exchanges.filter(({ status }) => status === 429);
      const passed = exchanges.filter(
        ({ status, headers }) => status !== 429 && headers?.has('X-RateLimit-Limit'),
      );
      return [
        ...neverMoreThanTheLimit(windows, passed),
        ...refusalsEndWithTheirWindow(windows, refused),
        ...(isCalm(plan) ? neverLess(world, windows, refused, passed) : []),
      ];
    }),
    ...neverWaitsLong(world),
    ...storesNothing(world),
  ];
}

/** Reports whether each call takes less than 0.1 s, and none fails. */
function isCalm(plan: Plan): boolean {
  return plan.isSwift === true && isFaultless(plan);
}

function isFaultless({ operations }: Plan): boolean {
  return operations.every((each) => each.roughness === 0 && !each.isFault);
}

function windowsOf(world: World, client: string, isFaultless: boolean): Window[] {
  const calls = world.counterCalls.filter((each) => each.client === client);
  const isolates = new Set(calls.map(({ isolate }) => isolate));
  const isRemembered = isFaultless && isolates.size === 1;
  const ends = new Set(
    calls.flatMap(({ windowEnd }) => (windowEnd === undefined ? [] : [windowEnd])),
  );
  const sorted = [...ends].sort((a, b) => a - b);
  return sorted.map((end, index) => {
    const start = end - WINDOW_MS;
    const next = sorted[index + 1] ?? Number.POSITIVE_INFINITY;
    const isForgotten = next - WINDOW_MS < end;
    const evictions = world.evictions.filter(
      ({ client: evicted, at, isIdle }) =>
        evicted === client && at >= start && at < end && !(isIdle && isRemembered),
    ).length;
    const mayPass = evictions * FIRST_LEASE + (isForgotten ? 0 : LIMIT);
    return { start, end, isForgotten, mayPass };
  });
}

function isWithin({ start, end }: Window, exchange: Exchange): boolean {
  return exchange.start < end && exchange.end >= start;
}

/** Looks for a window for each request that passed, the earliest first. */
function neverMoreThanTheLimit(
  windows: readonly Window[],
  passed: readonly Exchange[],
): Violation[] {
  const left = new Set(passed.toSorted((a, b) => a.end - b.end));
  for (const window of windows) {
    let count = 0;
    for (const exchange of left) {
      if (count >= window.mayPass || !isWithin(window, exchange)) continue;
      left.delete(exchange);
      count += 1;
    }
  }
  const [over] = left;
  if (over === undefined) return [];
  const how = `${left.size} too many passed, such as ${over.task} from ${timeOf(over.start)} to ${timeOf(over.end)}; windows ${toldOf(windows)}`;
  return [{ promise: 'never more than the limit passes in a window', how }];
}

function refusalsEndWithTheirWindow(
  windows: readonly Window[],
  refused: readonly Exchange[],
): Violation[] {
  return refused.flatMap((exchange) => {
    const told = `${exchange.task} from ${timeOf(exchange.start)} to ${timeOf(exchange.end)}; windows ${toldOf(windows)}`;
    const own = windows.filter((window) => isWithin(window, exchange));
    if (own.length === 0) {
      return [{ promise: 'nobody is refused when the window is over', how: told }];
    }
    const retryAt = exchange.end + Number(exchange.headers?.get('Retry-After')) * 1_000;
    if (own.some(({ end }) => retryAt >= end)) return [];
    return [{ promise: 'Retry-After is never shorter than the wait', how: told }];
  });
}

/** Holds where no call fails: the lease of a failed call is lost. */
function neverLess(
  world: World,
  windows: readonly Window[],
  refused: readonly Exchange[],
  passed: readonly Exchange[],
): Violation[] {
  for (const exchange of refused) {
    const own = windows.filter((window) => isWithin(window, exchange));
    const isRight = own.some((window) => {
      const isolates = isolatesIn(window, world.counterCalls, exchange.request.client);
      isolates.delete(exchange.isolate);
      const before = passed.filter((each) => isWithin(window, each) && each.start <= exchange.end);
      return before.length >= LIMIT - isolates.size * LARGEST_LEASE;
    });
    if (isRight || own.length === 0) continue;
    const before = passed.filter(({ start }) => start <= exchange.end).length;
    const how = `${exchange.task} was refused from ${timeOf(exchange.start)} to ${timeOf(exchange.end)}, when ${before} had passed since the start; windows ${toldOf(windows)}`;
    return [{ promise: 'nobody is refused before the limit, less what other isolates hold', how }];
  }
  return [];
}

function isolatesIn(window: Window, calls: readonly CounterCall[], client: string): Set<string> {
  const own = calls.filter((each) => each.client === client && each.windowEnd === window.end);
  return new Set(own.map(({ isolate }) => isolate));
}

function neverWaitsLong(world: World): Violation[] {
  return world.exchanges
    .filter(({ status, start, end }) => status !== undefined && end - start > LONGEST_WAIT_MS)
    .map(({ task, start, end }) => ({
      promise: 'a request waits for its counter for a second at most',
      how: `${task} from ${timeOf(start)} to ${timeOf(end)}`,
    }));
}

function storesNothing(world: World): Violation[] {
  const full = [...world.objects].filter(([, object]) => !object.isEmpty);
  return full.map(([client]) => ({ promise: 'an idle object stores nothing', how: client }));
}

function toldOf(windows: readonly Window[]): string {
  return windows.map(({ start, end }) => `${timeOf(start)} to ${timeOf(end)}`).join(', ');
}
