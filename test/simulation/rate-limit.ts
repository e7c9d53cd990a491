/**
 * Makes plans that stress the rate limit, and checks the guarantees of
 * docs/reference/conventions.md. A client that uses one isolate gets exactly its limit, whether or
 * not the counter works. A client that uses several isolates gets at least its limit, and only
 * slightly more while the counter responds. Rejected requests do not count.
 */

import { createHash } from 'node:crypto';
import type { Environment } from './environment.ts';
import { Random } from './random.ts';
import {
  BUCKET_MS,
  findCountedRejections,
  findExcess,
  findLongWaits,
  findShortRetries,
  findUnfairRejections,
  LONGEST_WAIT_MS,
  WINDOW_MS,
} from './rate-limit-checks.ts';
import { START } from './scheduler.ts';
import { makeIsolates, type Operation, type Plan } from './simulation.ts';

/** The number of requests that a client address may send per window. */
const LIMIT = 50;
/**
 * The number of requests that the named key may send per window. The number is high enough to reach
 * the maximum of 25 unreported and 60 unacknowledged requests.
 */
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
const MAX_CLOCK_DIFFERENCE_MS = 4_000;
/** Returns how many requests an isolate may admit without a permit. */
const getAllowance = (limit: number) => Math.min(limit / 5, 60);
/** How long a report to the counter can take in a plan with faults. */
const LATEST_REPORT_MS = 3_500;
const HOUR_MS = 3_600_000;

// kind       isolates per client   faults
// several    two or three          none
// one        one                   any
// any        two or three          any
// edge       two or three          none; requests wait while a full bucket leaves the window
// set back   one                   any, and all clocks are set back by an hour
//
// The first seeds have the kinds that reveal most mistakes.
const KINDS = ['any', 'edge', 'several', 'set back', 'one', 'any', 'several', 'one'] as const;
/** One seed in ten uses the named key, because its large limit makes those runs slower. */
const SEEDS_PER_KEY = 10;
/**
 * Requests that are sent within `spreadMs`, to one isolate or to all of them. `size` is the number
 * of requests for a limit of `LIMIT`, and grows with the limit.
 */
type Burst = {
  startMs: number;
  size: number;
  spreadMs: number;
  isolate?: number | undefined;
  isOverEdge?: boolean;
};
const SIZES = [1, 1, 3, 8, 25, 120];
const SPREADS_MS = [0, 5, 200, 3_000];
const PAUSES_MS = [1, 50, 900, 4_000, 11_000, 30_000, 59_000, 59_990];
/**
 * The first bursts of a client that uses several isolates. The last isolate must get the remaining
 * permits.
 */
const BEGINNINGS: readonly (readonly Burst[])[] = [
  // Some requests still wait when the next bucket begins. Each must count only once.
  [
    { startMs: 5_000, size: 30, spreadMs: 0, isolate: 0, isOverEdge: true },
    { startMs: 15_000, size: 4, spreadMs: 0, isolate: 0 },
    { startMs: 20_000, size: LIMIT, spreadMs: 0, isolate: 1 },
  ],
  // Reports overtake each other.
  [
    { startMs: 5_000, size: 40, spreadMs: 0, isolate: 0 },
    { startMs: 6_000, size: LIMIT, spreadMs: 0, isolate: 1 },
  ],
];

/** Number of clients in an `edge` plan. Each client has its own bucket that leaves the window. */
const EDGE_CLIENTS = 12;
/** Maximum time between a request and the moment at which the bucket leaves the window. */
const EDGE_MS = 30;

/**
 * Makes requests that fill the limit on one isolate. Their bucket leaves the window while requests
 * wait on a second isolate, so that some permits are denied and later ones are granted. Finally,
 * the first isolate must get the permits that the second one has not used.
 */
function makeEdgeRequests(
  random: Random,
  isolates: Plan['isolates'],
  counterOffset: number,
  limit: number,
): Operation[] {
  const operations: Operation[] = [];
  for (let client = 0; client < EDGE_CLIENTS; client += 1) {
    const second = random.between(1, isolates.length - 1);
    const [firstOffset = 0, secondOffset = 0] = [0, second].map(
      (index) => isolates[index]?.clockOffset,
    );
    const fillMs = random.between(5_000, 60_000);
    const fullBucket = Math.floor((START + fillMs + firstOffset) / BUCKET_MS);
    const endMs = fullBucket * BUCKET_MS + WINDOW_MS - START;
    // The full bucket leaves the window either by the isolate's clock or by the counter's clock.
    const edgeMs = endMs - random.pick([secondOffset, counterOffset - LONGEST_WAIT_MS]);
    const send = (name: string, isolate: number, size: number, atMs: () => number) => {
      for (let index = size; index > 0; index -= 1) {
        operations.push({
          atMs: atMs(),
          name: `request ${client}.${name}.${index}`,
          perform: sendFromAddress(client, isolate),
        });
      }
    };
    send('fills', 0, limit, () => fillMs);
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

function makeBursts(random: Random, isolates: number, lastMs: number): Burst[] {
  const bursts: Burst[] = [];
  for (let startMs = 30_000; startMs < lastMs; startMs += random.pick(PAUSES_MS)) {
    bursts.push({
      startMs,
      size: random.pick(SIZES),
      spreadMs: random.pick(SPREADS_MS),
      isolate: random.chance(0.5) ? random.between(0, isolates - 1) : undefined,
      isOverEdge: random.chance(0.3),
    });
  }
  return bursts;
}

export function rateLimit(seed: string): Plan {
  const random = new Random(`rate limit ${seed}`);
  const kind = KINDS[Number(seed) % KINDS.length] ?? 'any';
  const hasKey = kind !== 'edge' && Number(seed) % SEEDS_PER_KEY === 5;
  const limit = hasKey ? KEY_LIMIT : LIMIT;
  const isOnOneIsolate = kind === 'one' || kind === 'set back';
  const isolates = makeIsolates(random, random.between(isOnOneIsolate ? 1 : 2, 3));
  const counterOffset = random.between(-2_000, 2_000);
  const pickIsolate = () => random.between(0, isolates.length - 1);
  const isSwift = kind === 'several' || kind === 'edge' || random.chance(0.5);
  const hasFaults = kind !== 'several' && kind !== 'edge' && random.chance(0.7);
  const clients = isOnOneIsolate && !hasKey ? isolates.map((_, index) => index) : [0];
  const send = hasKey ? sendWithKey : sendFromAddress;
  const lastMs = hasKey ? 130_000 : 250_000;
  let operations = kind === 'edge' ? makeEdgeRequests(random, isolates, counterOffset, limit) : [];
  for (const client of kind === 'edge' ? [] : clients) {
    const bursts = makeBursts(random, isolates.length, lastMs);
    if (kind === 'several') bursts.unshift(...random.pick(BEGINNINGS));
    for (const burst of bursts) {
      const { startMs, size, spreadMs, isOverEdge } = burst;
      const isolate = isOnOneIsolate ? client : burst.isolate;
      // The first request is sent shortly before its bucket ends by the isolate's clock.
      const clock = startMs + (isolates[isolate ?? 0]?.clockOffset ?? 0);
      const firstMs = isOverEdge ? startMs + BUCKET_MS - (clock % BUCKET_MS) - 20 : startMs;
      for (let index = (size * limit) / LIMIT; index > 0; index -= 1) {
        operations.push({
          atMs: firstMs + random.between(0, spreadMs),
          name: `request ${client}.${startMs}.${index}`,
          faultRate: hasFaults ? random.pick([0, 0.2, 0.5, 1]) : 0,
          perform: send(client, isolate ?? pickIsolate()),
        });
      }
    }
  }
  const add = (name: string, atMs: number, perform: Operation['perform']) =>
    operations.push({ name, atMs, perform });
  if (kind === 'set back') {
    const setBackMs = lastMs / 2;
    // A request that waits while the clocks are set back would be denied a permit, because its bucket
    // would be ahead of the window.
    operations = operations.filter(
      ({ atMs }) => atMs < setBackMs - LONGEST_WAIT_MS || atMs > setBackMs,
    );
    add('set back', setBackMs, (environment) => environment.setClocksBack(HOUR_MS));
  }
  if (hasFaults) {
    const [forMs, isolate] = [random.pick([1_500, 5_000, 64_000]), pickIsolate()];
    add('outage', random.pick([0, 55_000]), (environment) =>
      environment.startOutage('counter', forMs),
    );
    for (const client of clients) {
      const name = hasKey ? 'key site' : makeAddress(client);
      add(`evicts ${client}`, random.between(0, 65_000), (environment) => environment.evict(name));
    }
    if (kind === 'any')
      add('kill', random.between(0, 60_000), (environment) => environment.kill(isolate));
  }
  const findViolations = (environment: Environment) => {
    const { exchanges, objects } = environment;
    const byClient = Map.groupBy(exchanges, ({ request }) => request.client);
    const differMs = isOnOneIsolate ? 0 : MAX_CLOCK_DIFFERENCE_MS;
    const lateMs = kind === 'any' ? LATEST_REPORT_MS : 0;
    const additionalIsolates = isOnOneIsolate ? 0 : isolates.length - 1;
    const most = limit + additionalIsolates * getAllowance(limit);
    return [
      ...[...byClient.values()].flatMap((clientExchanges) => [
        ...findUnfairRejections(clientExchanges, limit, differMs + lateMs),
        ...(kind === 'any' || kind === 'set back'
          ? []
          : findExcess(clientExchanges, most, differMs)),
        ...(kind === 'one' ? findShortRetries(clientExchanges, limit) : []),
      ]),
      ...findLongWaits(exchanges),
      ...findCountedRejections(environment),
      ...[...objects]
        .filter(([, object]) => kind !== 'set back' && !object.isEmpty)
        .map(([how]) => ({ promise: 'an idle counter stores nothing', how })),
    ];
  };
  const vars = { RATE_LIMIT_DEFAULT: String(LIMIT), API_KEYS };
  return {
    seed,
    isolates,
    counterOffset,
    vars,
    operations,
    isSwift,
    endMs: 450_000,
    findViolations,
  };
}

const makeAddress = (client: number) => `203.0.113.${client}`;

function sendFromAddress(client: number, isolate: number): Operation['perform'] {
  return (environment) =>
    environment.send(isolate, { path: '/api/health', client: makeAddress(client) });
}

function sendWithKey(_client: number, isolate: number): Operation['perform'] {
  return (environment) =>
    environment.send(isolate, { path: '/api/health', headers: { 'x-api-key': KEY } });
}
