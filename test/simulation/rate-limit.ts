/**
 * Plans that press the rate limit, and its promises (docs/reference/conventions.md): a client of one isolate gets
 * exactly its limit, whatever the object does; a client of several gets at least its limit, and while the object
 * answers, little more.
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
import type { Exchange, World } from './world.ts';

const LIMIT = 50;
const WINDOW_MS = 60_000;
/** The requests that an isolate may pass without a report: a fifth of the limit. Calls that cross add two. */
const ALLOWANCE = 10 + 2;
/** The longest that a request waits for its counter. */
const LONGEST_WAIT_MS = 300;
/** The longest that a report may take in a plan with faults. A window seems younger by this time. */
const LATEST_REPORT_MS = 3_500;

export const RATE_LIMIT: Part = { planOf, violationsIn };

/**
 * `spread`: several isolates, one window, an object that answers. `one`: each client has one isolate, and all faults
 * are possible. `any`: several isolates and all faults.
 */
type Kind = 'spread' | 'one' | 'any';

function kindOf({ seed }: Pick<Plan, 'seed'>): Kind {
  return (['spread', 'one', 'any'] as const)[Number(seed) % 3] ?? 'any';
}

function planOf(seed: string): Plan {
  const random = new Random(`rate limit ${seed}`);
  const kind = kindOf({ seed });
  const machines = machinesOf(random, random.between(kind === 'one' ? 1 : 2, 3));
  const isSwift = kind === 'spread' || random.chance(0.5);
  const hasFaults = kind !== 'spread' && random.chance(0.7);
  const roughness = () => (hasFaults ? random.pick([0, 0.2, 0.5, 1]) : 0);
  const starts =
    kind === 'spread'
      ? [0, 200, random.between(500, 40_000), random.between(500, 40_000)]
      : [0, 14_000, random.between(20_000, 59_000), 59_990, 60_000, 66_000, 120_000];
  const clients = kind === 'one' ? machines.map((_, index) => index) : [0];
  const operations = clients.flatMap((client) =>
    starts.flatMap((startMs, burst): Operation[] => {
      const spreadMs = random.pick([0, 20, 500, 4_000]);
      const own =
        kind === 'one' || random.chance(0.4) ? random.between(0, machines.length - 1) : -1;
      return Array.from({ length: random.pick([1, 3, 5, 9, 20, 40, 120]) }, (_, index) => {
        const any = own < 0 ? random.between(0, machines.length - 1) : own;
        const machine = kind === 'one' ? client : any;
        return {
          atMs: startMs + random.between(0, spreadMs),
          name: `${client}.${burst}.${index}`,
          roughness: roughness(),
          perform: (world: World) => request(world, client, machine),
        };
      });
    }),
  );
  if (kind === 'one') operations.push(...nextWindow(random));
  if (hasFaults) {
    const forMs = random.pick([1_500, 5_000, 30_000]);
    operations.push(outage('outage', 'counter', random.pick([0, 55_000]), forMs));
    for (const client of clients) operations.push(eviction(client, random.between(0, 65_000)));
    if (kind === 'any')
      operations.push(kill(random, 'kill', machines.length, random.between(0, 60_000)));
  }
  const vars = { RATE_LIMIT_DEFAULT: String(LIMIT) };
  return { seed, machines, vars, operations, isSwift, endMs: 400_000 };
}

/** A client whose next window begins before its object has ended the one before. */
function nextWindow(random: Random): Operation[] {
  const times = [
    ...Array(5).fill(0),
    ...Array.from({ length: 120 }, () => random.between(60_000, 60_100)),
  ];
  const perform = (world: World) => request(world, 9, 0);
  return times.map((atMs, index) => ({ atMs, name: `next ${index}`, roughness: 0, perform }));
}

const addressOf = (client: number) => `203.0.113.${client}`;

function request(world: World, client: number, machine: number): Promise<Exchange> {
  const label = `request of ${addressOf(client)}`;
  const sent = { method: 'GET', path: '/api/health', client: addressOf(client), label } as const;
  return world.send(machine, sent);
}

function eviction(client: number, atMs: number): Operation {
  const perform = (world: World) => world.evict(addressOf(client));
  return { atMs, name: `evicts the object of ${client}`, roughness: 0, perform };
}

function violationsIn(world: World, plan: Plan): Violation[] {
  const clients = Map.groupBy(world.exchanges, ({ request }) => request.client);
  const kind = kindOf(plan);
  return [
    ...[...clients.values()].flatMap((exchanges) => {
      const answered = exchanges.filter(({ status }) => status !== undefined);
      if (kind === 'one') return exactlyTheLimit(answered);
      const most = kind === 'spread' ? littleMore(answered, plan.machines.length) : [];
      return [...most, ...atLeastTheLimit(exchanges)];
    }),
    ...neverWaitsLong(world),
    ...storesNothing(world),
  ];
}

const hasPassed = ({ status }: Exchange) => status !== 429;

/** Windows follow each other: each begins with the first request after the one before. */
function exactlyTheLimit(exchanges: readonly Exchange[]): Violation[] {
  const rest = exchanges.toSorted((a, b) => a.start - b.start);
  const violations: Violation[] = [];
  for (let first = rest[0]; first !== undefined; first = rest[0]) {
    const endAt = first.start + WINDOW_MS;
    const own = rest.splice(0, rest.filter(({ start }) => start < endAt).length);
    const passed = own.filter(hasPassed).length;
    const expected = Math.min(LIMIT, own.length);
    if (passed !== expected) {
      const how = `${passed} of ${own.length} passed from ${timeOf(first.start)} on`;
      violations.push({ promise: 'a client of one isolate gets exactly its limit', how });
    }
    const early = own.find(
      (each) =>
        !hasPassed(each) && each.end + 1_000 * Number(each.headers?.get('Retry-After')) < endAt,
    );
    if (early === undefined) continue;
    const how = `${early.task} at ${timeOf(early.end)}: ${early.headers?.get('Retry-After')} s`;
    violations.push({ promise: 'Retry-After is never shorter than the wait', how });
  }
  return violations;
}

/** All requests are of one window. */
function littleMore(exchanges: readonly Exchange[], isolates: number): Violation[] {
  const passed = exchanges.filter(hasPassed).length;
  if (passed <= LIMIT + (isolates - 1) * ALLOWANCE) return [];
  const how = `${passed} passed in ${isolates} isolates`;
  return [{ promise: 'each further isolate adds at most a fifth of the limit', how }];
}

/**
 * A rejection needs a limit of requests that passed in the window, so in the last 60 s. A reserved place may go to
 * another isolate's request, which comes while the place is asked for.
 */
function atLeastTheLimit(exchanges: readonly Exchange[]): Violation[] {
  return exchanges
    .filter(({ status }) => status === 429)
    .flatMap((rejected) => {
      const from = rejected.start - WINDOW_MS - LATEST_REPORT_MS;
      const before = exchanges.filter(
        (each) =>
          hasPassed(each) && each.start >= from && each.start <= rejected.end + LONGEST_WAIT_MS,
      );
      if (before.length >= LIMIT) return [];
      const how = `${rejected.task} at ${timeOf(rejected.end)}, when ${before.length} had passed`;
      return [{ promise: 'a client of several isolates gets at least its limit', how }];
    });
}

function neverWaitsLong(world: World): Violation[] {
  return world.exchanges
    .filter(({ status }) => status !== undefined)
    .filter(({ start, end }) => end - start > LONGEST_WAIT_MS)
    .map(({ task, start, end }) => ({
      promise: 'a request waits for its counter for 300 ms at most',
      how: `${task} from ${timeOf(start)} to ${timeOf(end)}`,
    }));
}

function storesNothing(world: World): Violation[] {
  const full = [...world.objects].filter(([, object]) => !object.isEmpty);
  return full.map(([client]) => ({ promise: 'an idle object stores nothing', how: client }));
}
