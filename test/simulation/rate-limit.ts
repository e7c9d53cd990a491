/**
 * Plans that press the rate limit, and its promises (docs/reference/conventions.md): a client of
 * one isolate gets exactly its limit, whatever the object does; a client of several gets at least
 * its limit, and while the object responds, little more, in each minute of a flood too.
 */

import { createHash } from 'node:crypto';
import { WINDOW_SECONDS } from '../support/vars.ts';
import { Random } from './random.ts';
import { machinesOf, type Operation, type Plan, type Violation } from './simulation.ts';
import { type Exchange, timeOf, type World } from './world.ts';

/** The limit of an address. */
const LIMIT = 50;
/** Of a key with a limit of its own. The caps of 25 unsent and 60 unconfirmed requests bind. */
const KEY_LIMIT = 400;
const KEY = 'simulated-site-key';
const API_KEYS = JSON.stringify([
  {
    name: 'site',
    scopes: ['feed:read'],
    sha256: createHash('sha256').update(KEY).digest('hex'),
    rate_limit: KEY_LIMIT,
  },
]);
const WINDOW_MS = WINDOW_SECONDS * 1_000;
/** The latest start of a burst that ends in the first window. */
const IN_WINDOW_MS = (WINDOW_MS * 2) / 3;
/**
 * The requests that an isolate may pass without a report: a fifth of the limit, and at most 60.
 * Calls that cross add two.
 */
const allowanceOf = (limit: number) => Math.min(limit / 5, 60) + 2;
/** The longest that a request waits for its counter. */
const LONGEST_WAIT_MS = 300;
/**
 * The longest that a report may take in a plan with faults. A window seems younger by this time.
 */
const LATEST_REPORT_MS = 3_500;

/** Windows of a client begin at least this apart, by the clock of its object. */
const SHORTEST_WINDOW_MS = 50_000;

/**
 * `spread`: several isolates, one window, a counter that responds. `one`: each client has one
 * isolate, and all faults are possible. `any`: several isolates and all faults. `flood`: several
 * isolates meet the client some seconds apart, and each gets a burst at the end of its own window,
 * minute after minute, from a counter that responds.
 */
type Kind = 'spread' | 'one' | 'any' | 'flood';
const KINDS: readonly Kind[] = ['spread', 'one', 'any'];
/** A flood, or a large limit, takes longer than other plans, and needs fewer seeds. */
const SEEDS_PER_LONG_PLAN = 10;
/** The isolates of a flood meet the client so far apart. A counter loses its memory in 20 s. */
const FLOODS_APART_MS = [1_000, 5_000, 20_000];
const FLOOD_MINUTES = 4;
/** The requests of a burst, for the limit of an address. */
const SIZES = [1, 3, 5, 9, 20, 40, 120];

export function rateLimit(seed: string): Plan {
  const random = new Random(`rate limit ${seed}`);
  const isFlood = Number(seed) % SEEDS_PER_LONG_PLAN === 0;
  const hasKey = Number(seed) % SEEDS_PER_LONG_PLAN === 5;
  const limit = hasKey ? KEY_LIMIT : LIMIT;
  const kind = isFlood ? 'flood' : (KINDS[Number(seed) % KINDS.length] ?? 'any');
  const fewest = { spread: 2, one: hasKey ? 2 : 1, any: 2, flood: 3 }[kind];
  const machines = machinesOf(random, random.between(fewest, 3));
  const anyMachine = () => random.between(0, machines.length - 1);
  const responds = kind === 'spread' || kind === 'flood';
  const isSwift = responds || random.chance(0.5);
  const hasFaults = !responds && random.chance(0.7);
  const starts =
    kind === 'spread'
      ? [0, 200, random.between(500, IN_WINDOW_MS), random.between(500, IN_WINDOW_MS)]
      : [0, 14_000, random.between(20_000, 59_000), 59_990, 60_000, 66_000, 120_000];
  const operations: Operation[] = [];
  const clients = kind === 'one' && !hasKey ? machines.map((_, index) => index) : [0];
  const requestOf = hasKey ? requestOfKey : requestOfAddress;
  const apartMs =
    FLOODS_APART_MS[(Number(seed) / SEEDS_PER_LONG_PLAN) % FLOODS_APART_MS.length] ?? 0;
  if (isFlood) {
    const options = { isolates: machines.length, apartMs, burst: 1.4 * LIMIT };
    operations.push(...floodOf(random, { ...options, minutes: FLOOD_MINUTES }));
  }
  for (const client of isFlood ? [] : clients) {
    for (const [burst, startMs] of starts.entries()) {
      const spreadMs = random.pick([0, 20, 500, 4_000]);
      const own = random.chance(0.4) ? anyMachine() : undefined;
      for (let index = (random.pick(SIZES) * limit) / LIMIT; index > 0; index -= 1) {
        const machine = kind === 'one' ? client : (own ?? anyMachine());
        operations.push({
          atMs: startMs + random.between(0, spreadMs),
          name: `request ${client}.${burst}.${index}`,
          roughness: hasFaults ? random.pick([0, 0.2, 0.5, 1]) : 0,
          perform: requestOf(client, machine),
        });
      }
    }
  }
  // Clients whose next window begins before their counter has ended the last one, and whose last
  // report of the one may come after the first of the other.
  for (const client of kind === 'one' && !hasKey ? [7, 8, 9] : []) {
    for (let index = 0; index < 100; index += 1) {
      const early = client === 7 || index === 0 ? 0 : random.between(WINDOW_MS - 5, WINDOW_MS - 1);
      const atMs = index < 10 ? early : random.between(WINDOW_MS, WINDOW_MS + 20);
      const perform = requestOfAddress(client, 0);
      operations.push({ atMs, name: `next ${client}.${index}`, perform });
    }
  }
  if (hasFaults) {
    const [forMs, machine] = [random.pick([1_500, 5_000, 30_000]), anyMachine()];
    const add = (name: string, atMs: number, perform: Operation['perform']) =>
      operations.push({ name, atMs, perform });
    add('outage', random.pick([0, 55_000]), (world) => world.breakDown('counter', forMs));
    for (const client of clients) {
      const name = hasKey ? 'key site' : addressOf(client);
      add(`evicts ${client}`, random.between(0, 65_000), (world) => world.evict(name));
    }
    if (kind === 'any') add('kill', random.between(0, 60_000), (world) => world.kill(machine));
  }
  const violationsIn = ({ exchanges, objects }: World) => {
    const ofClients = Map.groupBy(exchanges, ({ request }) => request.client);
    return [
      ...[...ofClients.values()].flatMap((own) => {
        if (kind === 'one') return exactlyTheLimit(own, limit);
        const further = machines.length - 1;
        const most = kind === 'spread' ? littleMore(own, limit, further) : [];
        const flood = kind === 'flood' ? fewEachMinute(own) : [];
        return [...most, ...flood, ...atLeastTheLimit(own, limit)];
      }),
      ...neverWaitsLong(exchanges),
      ...[...objects]
        .filter(([, object]) => !object.isEmpty)
        .map(([how]) => ({ promise: 'an idle counter stores nothing', how })),
    ];
  };
  const vars = { RATE_LIMIT_DEFAULT: String(LIMIT), API_KEYS };
  return { seed, machines, vars, operations, isSwift, endMs: 450_000, violationsIn };
}

const addressOf = (client: number) => `203.0.113.${client}`;

function requestOfAddress(client: number, machine: number): Operation['perform'] {
  return (world) => world.send(machine, { path: '/api/health', client: addressOf(client) });
}

function requestOfKey(_client: number, machine: number): Operation['perform'] {
  return (world) => world.send(machine, { path: '/api/health', headers: { 'x-api-key': KEY } });
}

/**
 * A request at the start of each isolate's window, and a burst at its end. An isolate meets the
 * client `apartMs` after the isolate before.
 */
export function floodOf(
  random: Random,
  flood: { isolates: number; apartMs: number; burst: number; minutes: number },
): Operation[] {
  const operations: Operation[] = [];
  for (let machine = 0; machine < flood.isolates; machine += 1) {
    const firstMs = machine * flood.apartMs;
    for (let startMs = firstMs; startMs < flood.minutes * WINDOW_MS; startMs += WINDOW_MS + 200) {
      for (let index = 0; index <= flood.burst; index += 1) {
        const atMs = startMs + (index === 0 ? 0 : random.between(58_000, 59_900));
        const name = `flood ${machine}.${startMs}.${index}`;
        operations.push({ atMs, name, perform: requestOfAddress(0, machine) });
      }
    }
  }
  return operations;
}

const hasPassed = ({ status }: Exchange) => status !== 429;

/** Windows follow each other: each begins with the first request after the one before. */
function exactlyTheLimit(exchanges: readonly Exchange[], limit: number): Violation[] {
  const rest = exchanges.toSorted((a, b) => a.start - b.start);
  const violations: Violation[] = [];
  for (let first = rest[0]; first !== undefined; first = rest[0]) {
    const endAt = first.start + WINDOW_MS;
    const own = rest.splice(0, rest.filter(({ start }) => start < endAt).length);
    const passed = own.filter(hasPassed).length;
    if (passed !== Math.min(limit, own.length)) {
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

function littleMore(
  exchanges: readonly Exchange[],
  limit: number,
  furtherIsolates: number,
): Violation[] {
  const starts = exchanges.map(({ start }) => start);
  const durationMs = Math.max(...starts) - Math.min(...starts);
  const windows = Math.floor(durationMs / SHORTEST_WINDOW_MS) + 1;
  const most = windows * (limit + furtherIsolates * allowanceOf(limit));
  const passed = exchanges.filter(hasPassed).length;
  if (passed <= most) return [];
  const how = `${passed} of at most ${most} passed in ${windows} windows`;
  return [{ promise: 'each further isolate adds at most a fifth of the limit', how }];
}

/** A flood of three isolates. The first window and the last one may be full. */
function fewEachMinute(exchanges: readonly Exchange[]): Violation[] {
  const limits = exchanges.filter(hasPassed).length / LIMIT;
  if (limits <= 1.5 * (FLOOD_MINUTES + 0.5)) return [];
  const how = `${limits} limits passed in ${FLOOD_MINUTES} minutes`;
  return [{ promise: 'three isolates let at most 1.5 limits a minute pass', how }];
}

/**
 * A rejection needs a limit of requests that passed in the window, so in the last window. A
 * reserved place may go to another isolate's request, which comes while the object is called for
 * the place.
 */
function atLeastTheLimit(exchanges: readonly Exchange[], limit: number): Violation[] {
  return exchanges
    .filter(({ status }) => status === 429)
    .flatMap((rejected) => {
      const from = rejected.start - WINDOW_MS - LATEST_REPORT_MS;
      const until = rejected.end + LONGEST_WAIT_MS;
      const before = exchanges.filter(
        (each) => hasPassed(each) && each.start >= from && each.start <= until,
      );
      if (before.length >= limit) return [];
      const how = `${rejected.task} at ${timeOf(rejected.end)}, when ${before.length} had passed`;
      return [{ promise: 'a client of several isolates gets at least its limit', how }];
    });
}

/** Requests of an isolate that was killed have no response. */
function neverWaitsLong(exchanges: readonly Exchange[]): Violation[] {
  return exchanges
    .filter(({ status }) => status !== undefined)
    .filter(({ start, end }) => end - start > LONGEST_WAIT_MS)
    .map(({ task, start, end }) => ({
      promise: 'a request waits for its counter for 300 ms at most',
      how: `${task} from ${timeOf(start)} to ${timeOf(end)}`,
    }));
}
