/**
 * Plans that press the rate limit, and its promises (docs/reference/conventions.md): a client of
 * one isolate gets exactly its limit, whatever the object does; a client of several gets at least
 * its limit, and while the object responds, little more, in each minute of a flood too.
 */

import { WINDOW_SECONDS } from '../support/vars.ts';
import { Random } from './random.ts';
import { machinesOf, type Operation, type Plan, type Violation } from './simulation.ts';
import { type Exchange, timeOf, type World } from './world.ts';

const LIMIT = 50;
const WINDOW_MS = WINDOW_SECONDS * 1_000;
/** The latest start of a burst that ends in the first window. */
const IN_WINDOW_MS = (WINDOW_MS * 2) / 3;
/**
 * The requests that an isolate may pass without a report: a fifth of the limit. Calls that cross
 * add two.
 */
const ALLOWANCE = 10 + 2;
/** The longest that a request waits for its counter. */
const LONGEST_WAIT_MS = 300;
/**
 * The longest that a report may take in a plan with faults. A window seems younger by this time.
 */
const LATEST_REPORT_MS = 3_500;

/** Windows of a client begin at least this apart, by the clock of its object. */
const SHORTEST_WINDOW_MS = 50_000;

/**
 * `spread`: several isolates, one window, an object that responds. `one`: each client has one
 * isolate, and all faults are possible. `any`: several isolates and all faults. `flood`: several
 * isolates meet the client at different times of a minute, and each gets a burst at the end of its
 * own window, minute after minute, from an object that responds.
 */
type Kind = 'spread' | 'one' | 'any' | 'flood';
const KINDS: readonly Kind[] = ['spread', 'one', 'any'];
/** A flood takes longer than other plans, and needs fewer seeds. */
const SEEDS_PER_FLOOD = 10;
/** The requests of a burst. */
const SIZES = [1, 3, 5, 9, 20, 40, 120];

export function rateLimit(seed: string): Plan {
  const random = new Random(`rate limit ${seed}`);
  const isFlood = Number(seed) % SEEDS_PER_FLOOD === 0;
  const kind = isFlood ? 'flood' : (KINDS[Number(seed) % KINDS.length] ?? 'any');
  const machines = machinesOf(random, random.between(kind === 'one' ? 1 : 2, 3));
  const anyMachine = () => random.between(0, machines.length - 1);
  const responds = kind === 'spread' || kind === 'flood';
  const isSwift = responds || random.chance(0.5);
  const hasFaults = !responds && random.chance(0.7);
  const starts =
    kind === 'spread'
      ? [0, 200, random.between(500, IN_WINDOW_MS), random.between(500, IN_WINDOW_MS)]
      : [0, 14_000, random.between(20_000, 59_000), 59_990, 60_000, 66_000, 120_000];
  const operations: Operation[] = [];
  const clients = kind === 'one' ? machines.map((_, index) => index) : [0];
  if (isFlood) operations.push(...floodOf(random, machines.length));
  for (const client of isFlood ? [] : clients) {
    for (const [burst, startMs] of starts.entries()) {
      const spreadMs = random.pick([0, 20, 500, 4_000]);
      const own = random.chance(0.4) ? anyMachine() : undefined;
      for (let index = random.pick(SIZES); index > 0; index -= 1) {
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
  // Clients whose next window begins before their object has ended the last one, and whose last
  // report of the one may come after the first of the other.
  for (const client of kind === 'one' ? [7, 8, 9] : []) {
    for (let index = 0; index < 100; index += 1) {
      const early = client === 7 || index === 0 ? 0 : random.between(WINDOW_MS - 5, WINDOW_MS - 1);
      const atMs = index < 10 ? early : random.between(WINDOW_MS, WINDOW_MS + 20);
      operations.push({ atMs, name: `next ${client}.${index}`, perform: requestOf(client, 0) });
    }
  }
  if (hasFaults) {
    const [forMs, machine] = [random.pick([1_500, 5_000, 30_000]), anyMachine()];
    const add = (name: string, atMs: number, perform: Operation['perform']) =>
      operations.push({ name, atMs, perform });
    add('outage', random.pick([0, 55_000]), (world) => world.breakDown('counter', forMs));
    for (const client of clients) {
      add(`evicts ${client}`, random.between(0, 65_000), (world) => world.evict(addressOf(client)));
    }
    if (kind === 'any') add('kill', random.between(0, 60_000), (world) => world.kill(machine));
  }
  const violationsIn = ({ exchanges, objects }: World) => {
    const ofClients = Map.groupBy(exchanges, ({ request }) => request.client);
    return [
      ...[...ofClients.values()].flatMap((own) => {
        if (kind === 'one') return exactlyTheLimit(own);
        const most = responds ? littleMore(own, machines.length - 1) : [];
        return [...most, ...atLeastTheLimit(own)];
      }),
      ...neverWaitsLong(exchanges),
      ...[...objects]
        .filter(([, object]) => !object.isEmpty)
        .map(([how]) => ({ promise: 'an idle object stores nothing', how })),
    ];
  };
  const vars = { RATE_LIMIT_DEFAULT: String(LIMIT) };
  return { seed, machines, vars, operations, isSwift, endMs: 450_000, violationsIn };
}

const addressOf = (client: number) => `203.0.113.${client}`;

function requestOf(client: number, machine: number): Operation['perform'] {
  return (world) => world.send(machine, { path: '/api/health', client: addressOf(client) });
}

/** Four minutes: a request at the start of each isolate's window, and a burst at its end. */
function floodOf(random: Random, isolates: number): Operation[] {
  const operations: Operation[] = [];
  for (let machine = 0; machine < isolates; machine += 1) {
    const firstMs = (machine * WINDOW_MS) / isolates;
    for (let startMs = firstMs; startMs < 4 * WINDOW_MS; startMs += WINDOW_MS + 200) {
      for (let index = 0; index < 70; index += 1) {
        const atMs = startMs + (index === 0 ? 0 : random.between(57_000, 59_000));
        const name = `flood ${machine}.${startMs}.${index}`;
        operations.push({ atMs, name, perform: requestOf(0, machine) });
      }
    }
  }
  return operations;
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
    if (passed !== Math.min(LIMIT, own.length)) {
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

function littleMore(exchanges: readonly Exchange[], furtherIsolates: number): Violation[] {
  const starts = exchanges.map(({ start }) => start);
  const durationMs = Math.max(...starts) - Math.min(...starts);
  const windows = Math.floor(durationMs / SHORTEST_WINDOW_MS) + 1;
  const most = windows * (LIMIT + furtherIsolates * ALLOWANCE);
  const passed = exchanges.filter(hasPassed).length;
  if (passed <= most) return [];
  const how = `${passed} of at most ${most} passed in ${windows} windows`;
  return [{ promise: 'each further isolate adds at most a fifth of the limit', how }];
}

/**
 * A rejection needs a limit of requests that passed in the window, so in the last window. A
 * reserved place may go to another isolate's request, which comes while the object is called for
 * the place.
 */
function atLeastTheLimit(exchanges: readonly Exchange[]): Violation[] {
  return exchanges
    .filter(({ status }) => status === 429)
    .flatMap((rejected) => {
      const from = rejected.start - WINDOW_MS - LATEST_REPORT_MS;
      const until = rejected.end + LONGEST_WAIT_MS;
      const before = exchanges.filter(
        (each) => hasPassed(each) && each.start >= from && each.start <= until,
      );
      if (before.length >= LIMIT) return [];
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
