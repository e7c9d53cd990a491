/**
 * Plans that press the rate limit, and its promises (docs/reference/conventions.md): a client of
 * one isolate gets exactly its limit, whatever the object does; a client of several gets at least
 * its limit, and while the object responds, little more.
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
const SPAN_MS = 5_000;
/** A request counts for a window, less the part of its span that is over. */
const SHORTEST_WINDOW_MS = WINDOW_MS - SPAN_MS;
/** The clocks of two machines differ by so much at most. */
const CLOCKS_DIFFER_MS = 4_000;
/** The requests that an isolate may pass without the word of its counter. */
const allowanceOf = (limit: number) => Math.min(limit / 5, 60);
/** The longest that a request waits for its counter. */
const LONGEST_WAIT_MS = 300;
/** The longest that a report may take in a plan with faults. */
const LATEST_REPORT_MS = 3_500;
const HOUR_MS = 3_600_000;

/**
 * `several`: isolates of one client, and a counter that responds. `one`: each client has one
 * isolate, and all faults are possible. `any`: several isolates and all faults. `set back`: as
 * `one`, and all clocks are set back by an hour.
 */
const KINDS = ['several', 'one', 'any', 'several', 'one', 'any', 'several', 'set back'] as const;
/** A large limit takes longer than others, and needs fewer seeds. */
const SEEDS_PER_KEY = 10;
/** Requests that come within a time, to one isolate or to all. The size is for the limit of an address. */
type Burst = {
  startMs: number;
  size: number;
  spreadMs: number;
  machine?: number | undefined;
  isOverEdge?: boolean;
};
const SIZES = [1, 1, 3, 8, 25, 120];
const SPREADS_MS = [0, 5, 200, 3_000];
const PAUSES_MS = [1, 50, 900, 4_000, 11_000, 30_000, 59_000, 59_990];
/** How a client of several isolates begins. The last isolate gets the places that are left. */
const BEGINNINGS: readonly (readonly Burst[])[] = [
  // Some wait over the edge of a span, and count once.
  [
    { startMs: 5_000, size: 30, spreadMs: 0, machine: 0, isOverEdge: true },
    { startMs: 15_000, size: 4, spreadMs: 0, machine: 0 },
    { startMs: 20_000, size: LIMIT, spreadMs: 0, machine: 1 },
  ],
  // Reports overtake each other.
  [
    { startMs: 5_000, size: 40, spreadMs: 0, machine: 0 },
    { startMs: 6_000, size: LIMIT, spreadMs: 0, machine: 1 },
  ],
];

function burstsOf(random: Random, machines: number, lastMs: number): Burst[] {
  const bursts: Burst[] = [];
  for (let startMs = 30_000; startMs < lastMs; startMs += random.pick(PAUSES_MS)) {
    bursts.push({
      startMs,
      size: random.pick(SIZES),
      spreadMs: random.pick(SPREADS_MS),
      machine: random.chance(0.5) ? random.between(0, machines - 1) : undefined,
      isOverEdge: random.chance(0.3),
    });
  }
  return bursts;
}

export function rateLimit(seed: string): Plan {
  const random = new Random(`rate limit ${seed}`);
  const kind = KINDS[Number(seed) % KINDS.length] ?? 'any';
  const hasKey = Number(seed) % SEEDS_PER_KEY === 5;
  const limit = hasKey ? KEY_LIMIT : LIMIT;
  const isOfOne = kind === 'one' || kind === 'set back';
  const machines = machinesOf(random, random.between(isOfOne ? 1 : 2, 3));
  const anyMachine = () => random.between(0, machines.length - 1);
  const isSwift = kind === 'several' || random.chance(0.5);
  const hasFaults = kind !== 'several' && random.chance(0.7);
  const clients = isOfOne && !hasKey ? machines.map((_, index) => index) : [0];
  const requestOf = hasKey ? requestOfKey : requestOfAddress;
  const lastMs = hasKey ? 130_000 : 250_000;
  let operations: Operation[] = [];
  for (const client of clients) {
    const bursts = burstsOf(random, machines.length, lastMs);
    if (kind === 'several') bursts.unshift(...random.pick(BEGINNINGS));
    for (const burst of bursts) {
      const { startMs, size, spreadMs, isOverEdge } = burst;
      const machine = isOfOne ? client : burst.machine;
      // The first one comes shortly before the edge of a span, by the clock of its isolate.
      const clock = startMs + (machines[machine ?? 0]?.clockOffset ?? 0);
      const firstMs = isOverEdge ? startMs + SPAN_MS - (clock % SPAN_MS) - 20 : startMs;
      for (let index = (size * limit) / LIMIT; index > 0; index -= 1) {
        operations.push({
          atMs: firstMs + random.between(0, spreadMs),
          name: `request ${client}.${startMs}.${index}`,
          roughness: hasFaults ? random.pick([0, 0.2, 0.5, 1]) : 0,
          perform: requestOf(client, machine ?? anyMachine()),
        });
      }
    }
  }
  const add = (name: string, atMs: number, perform: Operation['perform']) =>
    operations.push({ name, atMs, perform });
  if (kind === 'set back') {
    const setBackMs = lastMs / 2;
    // The counter rejects a request that waits meanwhile: its span is ahead of the window.
    operations = operations.filter(
      ({ atMs }) => atMs < setBackMs - LONGEST_WAIT_MS || atMs > setBackMs,
    );
    add('set back', setBackMs, (world) => world.setClocksBack(HOUR_MS));
  }
  if (hasFaults) {
    const [forMs, machine] = [random.pick([1_500, 5_000, 64_000]), anyMachine()];
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
        const most = limit + (machines.length - 1) * allowanceOf(limit);
        const differMs = isOfOne ? 0 : CLOCKS_DIFFER_MS;
        const hasBound = kind === 'one' || kind === 'several';
        return [
          ...atLeastTheLimit(own, limit, kind === 'any' ? differMs + LATEST_REPORT_MS : differMs),
          ...(hasBound ? atMost(own, isOfOne ? limit : most, SHORTEST_WINDOW_MS - differMs) : []),
          ...(kind === 'one' ? retryInTime(own, limit) : []),
        ];
      }),
      ...neverWaitsLong(exchanges),
      ...[...objects]
        .filter(([, object]) => kind !== 'set back' && !object.isEmpty)
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

const hasPassed = ({ status }: Exchange) => status !== 429;

/** Returns the requests that passed and began within the time before another. */
function passedBefore(exchanges: readonly Exchange[], until: number, withinMs: number): number {
  const isWithin = ({ start }: Exchange) => start > until - withinMs && start <= until;
  return exchanges.filter((each) => hasPassed(each) && isWithin(each)).length;
}

function atMost(exchanges: readonly Exchange[], most: number, withinMs: number): Violation[] {
  return exchanges
    .map(({ start }) => ({ start, passed: passedBefore(exchanges, start, withinMs) }))
    .filter(({ passed }) => passed > most)
    .map(({ start, passed }) => ({
      promise: 'a client gets at most its limit, and a fifth for each further isolate',
      how: `${passed} of at most ${most} passed in ${withinMs} ms until ${timeOf(start)}`,
    }));
}

/**
 * A rejection needs a limit of requests that passed in the window. With several isolates, a report
 * may be late, and a reserved place may go to another isolate's request, which comes meanwhile.
 */
function atLeastTheLimit(exchanges: readonly Exchange[], limit: number, slackMs: number) {
  const soonMs = slackMs === 0 ? 0 : LONGEST_WAIT_MS;
  return exchanges
    .filter((each) => !hasPassed(each))
    .map(({ task, start }) => {
      const withinMs = WINDOW_MS + slackMs + soonMs;
      return { task, start, passed: passedBefore(exchanges, start + soonMs, withinMs) };
    })
    .filter(({ passed }) => passed < limit)
    .map(({ task, start, passed }) => ({
      promise: 'no request is rejected before a limit has passed in the last window',
      how: `${task} at ${timeOf(start)}, when ${passed} had passed`,
    }));
}

/** No request passes while a limit of requests has passed in the shortest window. */
function retryInTime(exchanges: readonly Exchange[], limit: number): Violation[] {
  return exchanges
    .filter((each) => !hasPassed(each))
    .filter(({ end, headers }) => {
      const retryAt = end + 1_000 * Number(headers?.get('Retry-After'));
      const before = exchanges.filter(({ start }) => start <= end);
      return passedBefore(before, retryAt, SHORTEST_WINDOW_MS) >= limit;
    })
    .map(({ task, headers }) => ({
      promise: 'Retry-After is never shorter than the wait',
      how: `${task}: ${headers?.get('Retry-After')} s`,
    }));
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
