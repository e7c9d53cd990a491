/**
 * Plans that stress the rate limit, and its guarantees (docs/reference/conventions.md). On one
 * isolate, a client gets exactly its limit, whatever the counter does. On several, it gets at least
 * its limit, and only slightly more while the counter responds.
 */

import { createHash } from 'node:crypto';
import { WINDOW_SECONDS } from '../support/vars.ts';
import { type Exchange, timeOf, type World } from './environment.ts';
import { Random } from './random.ts';
import { START } from './scheduler.ts';
import { machinesOf, type Operation, type Plan, type Violation } from './simulation.ts';

/** The limit of an address. */
const LIMIT = 50;
/** The limit of a key. It is high enough to reach the bounds of 25 unreported and 60 unacknowledged requests. */
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
const BUCKET_MS = 5_000;
/** A request counts for a window, minus the part of its bucket that was over when it began. */
const SHORTEST_WINDOW_MS = WINDOW_MS - BUCKET_MS;
/** Maximum difference between the clocks of two machines. */
const CLOCKS_DIFFER_MS = 4_000;
/** Returns how many requests an isolate can admit without a permit. */
const getAllowance = (limit: number) => Math.min(limit / 5, 60);
/** Maximum wait of a request for its counter. */
const LONGEST_WAIT_MS = 300;
/** Maximum duration of a report in a plan with faults. */
const LATEST_REPORT_MS = 3_500;
const HOUR_MS = 3_600_000;

/**
 *     kind       isolates per client   faults
 *     several    two or three          none
 *     one        one                   any
 *     any        two or three          any
 *     edges      two or three          none; requests wait while a full bucket leaves the window
 *     set back   one                   any, and all clocks are set back by an hour
 */
const KINDS = ['several', 'one', 'any', 'edges', 'one', 'any', 'several', 'set back'] as const;
/** One seed in ten uses the key, because its large limit takes longer. */
const SEEDS_PER_KEY = 10;
/** Requests within `spreadMs`, to one isolate or to all. Another limit than `LIMIT` scales the size. */
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
/** First bursts of a client on several isolates. The last isolate gets the remaining permits. */
const BEGINNINGS: readonly (readonly Burst[])[] = [
  // Some requests wait across a bucket boundary, and must count once.
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

/** Clients of a plan of the kind `edges`. */
const EDGE_CLIENTS = 12;
/** Milliseconds before and after the edge of a bucket within which requests come. */
const EDGE_MS = 30;

/**
 * One isolate gets the whole limit. Its bucket leaves the window of a second isolate while requests
 * of the second isolate wait for permits, so that some are denied and later ones are granted.
 */
function makeEdgeRequests(
  random: Random,
  machines: Plan['machines'],
  counterOffset: number,
  limit: number,
): Operation[] {
  const operations: Operation[] = [];
  for (let client = 0; client < EDGE_CLIENTS; client += 1) {
    const second = random.between(1, machines.length - 1);
    const [firstOffset = 0, secondOffset = 0] = [0, second].map(
      (index) => machines[index]?.clockOffset,
    );
    const fullMs = random.between(5_000, 60_000);
    const fullBucket = Math.floor((START + fullMs + firstOffset) / BUCKET_MS);
    const endMs = fullBucket * BUCKET_MS + WINDOW_MS - START;
    // The bucket has left the window by the clock of the isolate, or by the clock of the counter.
    const edgeMs = endMs - random.pick([secondOffset, counterOffset - LONGEST_WAIT_MS]);
    const send = (name: string, machine: number, size: number, atMs: () => number) => {
      for (let index = size; index > 0; index -= 1) {
        operations.push({
          atMs: atMs(),
          name: `request ${client}.${name}.${index}`,
          perform: requestFromAddress(client, machine),
        });
      }
    };
    send('fills', 0, limit, () => fullMs);
    send(
      'before',
      second,
      random.between(limit / 2, limit),
      () => edgeMs - random.between(1, EDGE_MS),
    );
    send('after', second, random.between(1, limit / 5), () => edgeMs + random.between(0, EDGE_MS));
    send('elsewhere', 0, limit, () => edgeMs + BUCKET_MS);
  }
  return operations;
}

function makeBursts(random: Random, machines: number, lastMs: number): Burst[] {
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
  const hasKey = kind !== 'edges' && Number(seed) % SEEDS_PER_KEY === 5;
  const limit = hasKey ? KEY_LIMIT : LIMIT;
  const isOnOneIsolate = kind === 'one' || kind === 'set back';
  const machines = machinesOf(random, random.between(isOnOneIsolate ? 1 : 2, 3));
  const counterOffset = random.between(-2_000, 2_000);
  const anyMachine = () => random.between(0, machines.length - 1);
  const isSwift = kind === 'several' || kind === 'edges' || random.chance(0.5);
  const hasFaults = kind !== 'several' && kind !== 'edges' && random.chance(0.7);
  const clients = isOnOneIsolate && !hasKey ? machines.map((_, index) => index) : [0];
  const makeRequest = hasKey ? requestWithKey : requestFromAddress;
  const lastMs = hasKey ? 130_000 : 250_000;
  let operations = kind === 'edges' ? makeEdgeRequests(random, machines, counterOffset, limit) : [];
  for (const client of kind === 'edges' ? [] : clients) {
    const bursts = makeBursts(random, machines.length, lastMs);
    if (kind === 'several') bursts.unshift(...random.pick(BEGINNINGS));
    for (const burst of bursts) {
      const { startMs, size, spreadMs, isOverEdge } = burst;
      const machine = isOnOneIsolate ? client : burst.machine;
      // The first request comes shortly before a bucket boundary, by the clock of its isolate.
      const clock = startMs + (machines[machine ?? 0]?.clockOffset ?? 0);
      const firstMs = isOverEdge ? startMs + BUCKET_MS - (clock % BUCKET_MS) - 20 : startMs;
      for (let index = (size * limit) / LIMIT; index > 0; index -= 1) {
        operations.push({
          atMs: firstMs + random.between(0, spreadMs),
          name: `request ${client}.${startMs}.${index}`,
          roughness: hasFaults ? random.pick([0, 0.2, 0.5, 1]) : 0,
          perform: makeRequest(client, machine ?? anyMachine()),
        });
      }
    }
  }
  const add = (name: string, atMs: number, perform: Operation['perform']) =>
    operations.push({ name, atMs, perform });
  if (kind === 'set back') {
    const setBackMs = lastMs / 2;
    // The counter denies a permit across the jump, because its bucket is ahead of the window.
    operations = operations.filter(
      ({ atMs }) => atMs < setBackMs - LONGEST_WAIT_MS || atMs > setBackMs,
    );
    add('set back', setBackMs, (world) => world.setClocksBack(HOUR_MS));
  }
  if (hasFaults) {
    const [forMs, machine] = [random.pick([1_500, 5_000, 64_000]), anyMachine()];
    add('outage', random.pick([0, 55_000]), (world) => world.breakDown('counter', forMs));
    for (const client of clients) {
      const name = hasKey ? 'key site' : makeAddress(client);
      add(`evicts ${client}`, random.between(0, 65_000), (world) => world.evict(name));
    }
    if (kind === 'any') add('kill', random.between(0, 60_000), (world) => world.kill(machine));
  }
  const violationsIn = (world: World) => {
    const { exchanges, objects } = world;
    const byClient = Map.groupBy(exchanges, ({ request }) => request.client);
    return [
      ...[...byClient.values()].flatMap((clientExchanges) => {
        const most = limit + (machines.length - 1) * getAllowance(limit);
        const differMs = isOnOneIsolate ? 0 : CLOCKS_DIFFER_MS;
        const hasBound = kind === 'one' || kind === 'several' || kind === 'edges';
        return [
          ...atLeastTheLimit(
            clientExchanges,
            limit,
            kind === 'any' ? differMs + LATEST_REPORT_MS : differMs,
          ),
          ...(hasBound
            ? atMost(clientExchanges, isOnOneIsolate ? limit : most, SHORTEST_WINDOW_MS - differMs)
            : []),
          ...(kind === 'one' ? retryInTime(clientExchanges, limit) : []),
        ];
      }),
      ...neverWaitsLong(exchanges),
      ...countsOnlyAdmitted(world),
      ...[...objects]
        .filter(([, object]) => kind !== 'set back' && !object.isEmpty)
        .map(([how]) => ({ promise: 'an idle counter stores nothing', how })),
    ];
  };
  const vars = { RATE_LIMIT_DEFAULT: String(LIMIT), API_KEYS };
  return { seed, machines, counterOffset, vars, operations, isSwift, endMs: 450_000, violationsIn };
}

const makeAddress = (client: number) => `203.0.113.${client}`;

function requestFromAddress(client: number, machine: number): Operation['perform'] {
  return (world) => world.send(machine, { path: '/api/health', client: makeAddress(client) });
}

function requestWithKey(_client: number, machine: number): Operation['perform'] {
  return (world) => world.send(machine, { path: '/api/health', headers: { 'x-api-key': KEY } });
}

const isAdmitted = ({ status }: Exchange) => status !== 429;

/** Counts the admitted requests that began in the last `withinMs` until a time. */
function countAdmitted(exchanges: readonly Exchange[], until: number, withinMs: number): number {
  const isWithin = ({ start }: Exchange) => start > until - withinMs && start <= until;
  return exchanges.filter((exchange) => isAdmitted(exchange) && isWithin(exchange)).length;
}

function atMost(exchanges: readonly Exchange[], most: number, withinMs: number): Violation[] {
  return exchanges
    .map(({ start }) => ({ start, passed: countAdmitted(exchanges, start, withinMs) }))
    .filter(({ passed }) => passed > most)
    .map(({ start, passed }) => ({
      promise: 'a client gets at most its limit, and a fifth for each further isolate',
      how: `${passed} of at most ${most} passed in ${withinMs} ms until ${timeOf(start)}`,
    }));
}

/**
 * A request is rejected only if the whole limit was admitted in its window. With several isolates, a
 * report may be late, and another isolate's request may get the last permit.
 */
function atLeastTheLimit(exchanges: readonly Exchange[], limit: number, slackMs: number) {
  const soonMs = slackMs === 0 ? 0 : LONGEST_WAIT_MS;
  return exchanges
    .filter((exchange) => !isAdmitted(exchange))
    .map(({ task, start }) => {
      const withinMs = WINDOW_MS + slackMs + soonMs;
      return { task, start, passed: countAdmitted(exchanges, start + soonMs, withinMs) };
    })
    .filter(({ passed }) => passed < limit)
    .map(({ task, start, passed }) => ({
      promise: 'no request is rejected before a limit has passed in the last window',
      how: `${task} at ${timeOf(start)}, when ${passed} had passed`,
    }));
}

/** A client that waits for `Retry-After` before its next request is admitted. */
function retryInTime(exchanges: readonly Exchange[], limit: number): Violation[] {
  return exchanges
    .filter((exchange) => !isAdmitted(exchange))
    .filter(({ end, headers }) => {
      const retryAt = end + 1_000 * Number(headers?.get('Retry-After'));
      const before = exchanges.filter(({ start }) => start <= end);
      return countAdmitted(before, retryAt, SHORTEST_WINDOW_MS) >= limit;
    })
    .map(({ task, headers }) => ({
      promise: 'Retry-After is never shorter than the wait',
      how: `${task}: ${headers?.get('Retry-After')} s`,
    }));
}

/** Ignores requests without a response, because their isolate was killed. */
function neverWaitsLong(exchanges: readonly Exchange[]): Violation[] {
  return exchanges
    .filter(({ status }) => status !== undefined)
    .filter(({ start, end }) => end - start > LONGEST_WAIT_MS)
    .map(({ task, start, end }) => ({
      promise: 'a request waits for its counter for 300 ms at most',
      how: `${task} from ${timeOf(start)} to ${timeOf(end)}`,
    }));
}

/** Compares each count of a counter with the admitted requests of its isolate in the same bucket. */
function countsOnlyAdmitted({ exchanges, objects, reporters }: World): Violation[] {
  const keyOf = (isolate: string, client: string | undefined, bucket: number) =>
    `${isolate}, client ${client}, bucket ${bucket}`;
  const admitted = new Map<string, number>();
  for (const exchange of exchanges.filter(isAdmitted)) {
    const bucket = Math.floor(exchange.clock / BUCKET_MS);
    const key = keyOf(exchange.isolate, exchange.request.client, bucket);
    admitted.set(key, (admitted.get(key) ?? 0) + 1);
  }
  const violations: Violation[] = [];
  for (const { largestCounts } of objects.values()) {
    for (const [bucket, counts] of largestCounts) {
      for (const [reporter, count] of counts) {
        const exchange = reporters.get(reporter);
        if (exchange === undefined) continue;
        const key = keyOf(exchange.isolate, exchange.request.client, bucket);
        const most = admitted.get(key) ?? 0;
        if (count > most) {
          violations.push({
            promise: 'a rejected request is not counted',
            how: `${key}: ${most} admitted, ${count} counted`,
          });
        }
      }
    }
  }
  return violations;
}
