/**
 * Makes plans that stress the ingest, and checks the guarantees of docs/reference/events.md.
 *
 * The responses to all requests with the same key must be linearizable (Herlihy and Wing). This
 * means that they could come from a service that handles one request at a time.
 */

import { deriveEventId } from '../support/keys.ts';
import { type Environment, type Exchange, formatTime } from './environment.ts';
import { Random } from './random.ts';
import { makeIsolates, type Operation, type Plan, type Violation } from './simulation.ts';

const RETENTION_MS = 60_000;
/** Maximum difference between a clock and the true time. */
const MAX_CLOCK_ERROR_MS = 2_000;

/** Maps the name of a body to the guests in its payload. The schema rejects the body `invalid`. */
const BODIES = { A: 1, B: 2, C: 3, invalid: -1 };
type BodyName = keyof typeof BODIES;

const makeEvent = (body: BodyName, aggregate_id: string) => ({
  event_type: 'booking.created',
  aggregate_type: 'booking',
  aggregate_id,
  payload: { guests: BODIES[body] },
});
type SentEvent = ReturnType<typeof makeEvent>;
type Batch = { events: (SentEvent & { idempotency_key: string })[] };

export function events(seed: string): Plan {
  const random = new Random(`events ${seed}`);
  const isolates = makeIsolates(random, random.between(2, 4));
  const hasFaults = random.chance(0.7);
  const operations: Operation[] = [];
  const add = (atMs: number, name: string, perform: Operation['perform']) =>
    operations.push({
      atMs,
      name,
      faultRate: hasFaults ? random.pick([0, 0.1, 0.3, 0.6]) : 0,
      perform,
    });
  const pickIsolate = () => random.between(0, isolates.length - 1);
  const hangUpMs = () => (random.chance(0.1) ? random.between(1, 500) : undefined);
  // Bursts start at the beginning, during the retention period, around its end, and after it.
  const bursts = [0, random.between(1_000, 56_000), random.between(57_000, 66_000), 125_000];
  for (const [burst, startMs] of bursts.entries()) {
    const spreadMs = random.pick([5, 100, 2_000, 9_000]);
    const at = () => startMs + random.between(0, spreadMs);
    const bodies = random.pick<BodyName[]>([['A'], ['A', 'B'], ['A', 'A', 'B', 'C', 'invalid']]);
    for (let index = random.between(burst === 0 ? 1 : 0, 5); index > 0; index -= 1) {
      const key = random.chance(0.8) ? 'k' : random.pick(['l', null]);
      const body = key === null ? 'A' : random.pick(bodies);
      const name = `event ${burst}.${index}: key ${key}, body ${body}`;
      add(at(), name, ingest(pickIsolate(), key, makeEvent(body, key ?? name), hangUpMs()));
    }
    for (let index = random.between(0, 2); index > 0; index -= 1) {
      const batch = makeBatch(random);
      const keys = batch.events.map(({ idempotency_key }) => idempotency_key);
      const name = `batch ${burst}.${index}: keys ${keys}`;
      add(at(), name, ingest(pickIsolate(), null, batch, hangUpMs()));
    }
  }
  // The key expires and a different body uses it in another data centre. Then the first body is sent
  // again to the first data centre, where KV may still have cached its entry.
  const otherPlace = isolates.findIndex(({ place }) => place !== isolates[0]?.place);
  if (otherPlace > 0) {
    for (const [atMs, isolate, body] of [
      [0, 0, 'A'],
      [50_000, 0, 'A'],
      [64_000, otherPlace, 'B'],
      [68_000, 0, 'A'],
    ] as const) {
      add(atMs, `handover ${atMs}: body ${body}`, ingest(isolate, 'm', makeEvent(body, 'm')));
    }
  }
  for (let index = hasFaults ? random.between(0, 2) : 0; index > 0; index -= 1) {
    const [atMs, isolate] = [random.pick(bursts) + random.between(0, 3_000), pickIsolate()];
    add(atMs, `kill ${index}`, (environment) => environment.kill(isolate));
  }
  if (hasFaults && random.chance(0.4)) {
    const service = random.pick(['D1', 'D1', 'KV', 'counter'] as const);
    const [atMs, forMs] = [
      random.pick(bursts) + random.between(0, 1_000),
      random.between(500, 20_000),
    ];
    add(atMs, 'outage', (environment) => environment.startOutage(service, forMs));
  }
  const vars = { IDEMPOTENCY_RETENTION_SECONDS: String(RETENTION_MS / 1_000) };
  return { seed, isolates, vars, operations, endMs: 200_000, findViolations };
}

/** Makes a batch. At most one of its events is invalid. */
function makeBatch(random: Random): Batch {
  const keys = random.pick([
    ['k', 'l'],
    ['l', 'k'],
    ['m', 'k', 'l'],
    ['k', 'm'],
  ]);
  const invalid = random.chance(0.2) ? random.pick(keys) : undefined;
  const events = keys.map((key) => {
    const body = key === invalid ? 'invalid' : random.pick<BodyName>(['A', 'A', 'B']);
    return { idempotency_key: key, ...makeEvent(body, key) };
  });
  return { events };
}

const INGEST = '/api/public/events/ingest';

/** Makes an operation that sends one event or a batch. A batch has no key of its own. */
function ingest(isolate: number, key: string | null, sent: SentEvent | Batch, hangUpMs?: number) {
  const path = 'events' in sent ? `${INGEST}/batch` : INGEST;
  const headers = { 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) };
  const request = { path, headers, body: JSON.stringify(sent), hangUpMs };
  return (environment: Environment) => environment.send(isolate, request);
}

type Row = {
  id: string;
  key_id: string | null;
  receipt: string | null;
  payload: string;
  created_at: number;
  aggregate_id: string;
};

/**
 * One event of a request, with its response. An event of a batch has the status that a separate
 * request would have got.
 */
type Attempt = {
  task: string;
  start: number;
  end: number;
  key: string | null;
  event: SentEvent;
  status?: number | undefined;
  id?: string;
};

const STATUSES: Record<string, number> = { accepted: 202, replayed: 200, conflict: 409 };

/** Lists the events of a request, each with its response. */
function listAttempts({ task, start, end, request, status, body }: Exchange): Attempt[] {
  const sent: SentEvent | Batch = JSON.parse(request.body ?? '');
  const times = { task, start, end };
  if (!('events' in sent)) {
    const key = request.headers?.['Idempotency-Key'] ?? null;
    return [{ ...times, key, event: sent, status, id: Object(body).id }];
  }
  return sent.events.flatMap(({ idempotency_key: key, ...event }, index): Attempt[] => {
    const result = Object(body).data?.[index];
    if (result !== undefined) {
      return [{ ...times, key, event, status: STATUSES[result.outcome], id: result.event?.id }];
    }
    // A rejected batch stores nothing. Only the invalid item would also get a 400 in a separate request.
    const isValidItem = status === 400 && event.payload.guests !== BODIES.invalid;
    return isValidItem ? [] : [{ ...times, key, event, status }];
  });
}

function findViolations(environment: Environment): Violation[] {
  const rows = environment.database.rows('select * from events order by seq') as Row[];
  const attempts = environment.exchanges.flatMap(listAttempts);
  return [
    ...findLostOrRepeated(rows, attempts),
    ...findSplitBatches(rows, environment.exchanges),
    ...['k', 'l', 'm'].flatMap((key) => findUnexplained(key, rows, attempts)),
  ];
}

function findLostOrRepeated(rows: readonly Row[], attempts: readonly Attempt[]): Violation[] {
  const promise = 'every acknowledged event is stored, once, under its id';
  const getContent = (event: SentEvent) => `${event.aggregate_id} ${JSON.stringify(event.payload)}`;
  const stored = rows.map((row) => `${row.id} ${row.aggregate_id} ${row.payload}`);
  const missing = attempts
    .filter(({ status = 0 }) => status === 200 || status === 202)
    .filter(({ id, event }) => !stored.includes(`${id} ${getContent(event)}`))
    .map(({ task, id }) => `${task} got ${id}, stored are ${stored}`);
  const facts = rows.map((row) => `${row.key_id} ${row.aggregate_id} ${row.payload}`);
  const twice = facts.filter((fact, index) => facts.indexOf(fact) !== index);
  return [...missing, ...twice].map((how) => ({ promise, how }));
}

/**
 * Finds batches whose events were stored apart or in a different order. The events of a batch share
 * one receipt.
 */
function findSplitBatches(rows: readonly Row[], requests: readonly Exchange[]): Violation[] {
  const promise = 'the events of a batch are stored next to each other, in the order sent, or not';
  const stored = rows.map(({ id }) => id).join();
  const batches = Map.groupBy(rows, ({ id, receipt }) => receipt ?? id);
  const byReceipt = [...batches.values()].map((events) => events.map(({ id }) => id));
  const byResponse = requests.map(({ body }) => {
    const results: { outcome: string; event: { id: string } | null }[] = Object(body).data ?? [];
    return results
      .filter(({ outcome }) => outcome === 'accepted')
      .map(({ event }) => String(event?.id));
  });
  return [...byReceipt, ...byResponse]
    .filter((ids) => !stored.includes(ids.join()))
    .map((ids) => ({ promise, how: `${ids} in ${stored}` }));
}

/** The stored events with the same key, oldest first. The newest event holds the key. */
type State = readonly { body: string; id: string; at: number }[];

/** A permitted response, and the state after it. */
type Allowed = { status: number; id?: string; next: State };

/** Lists the responses that the guarantees permit for an attempt in a given state. */
function listAllowed(state: State, attempt: Attempt, rows: readonly Row[]): Allowed[] {
  const body = JSON.stringify(attempt.event.payload);
  // The range of times that the isolate's clock can have shown during the request.
  const earliest = attempt.start - MAX_CLOCK_ERROR_MS;
  const latest = attempt.end + MAX_CLOCK_ERROR_MS;
  // If a key has just expired, it may still be valid by another isolate's clock.
  const allowed = state
    .filter(({ at }) => at + RETENTION_MS > earliest)
    .map((event): Allowed => {
      if (event.body === body) return { status: 200, id: event.id, next: state };
      return { status: 409, next: state };
    });
  const latestEvent = state.at(-1);
  if (latestEvent !== undefined && latestEvent.at + RETENTION_MS > latest) return allowed;
  const sameEvent = state.find((event) => event.body === body);
  if (sameEvent !== undefined) return [...allowed, { status: 200, id: sameEvent.id, next: state }];
  if (attempt.event.payload.guests === BODIES.invalid) {
    return [...allowed, { status: 400, next: state }];
  }
  // Events must have been accepted in the order in which their rows were stored.
  const row = rows[state.length];
  if (row?.payload !== body || row.created_at < earliest || row.created_at > latest) return allowed;
  const event = { body, id: row.id, at: row.created_at };
  return [...allowed, { status: 202, id: row.id, next: [...state, event] }];
}

function findUnexplained(
  key: string,
  rows: readonly Row[],
  attempts: readonly Attempt[],
): Violation[] {
  const keyId = deriveEventId(key);
  const stored = rows.filter(({ key_id }) => key_id === keyId);
  if (stored[0] !== undefined && stored[0].id !== keyId) {
    return [{ promise: 'the first event of a key has the id of the key', how: stored[0].id }];
  }
  const keyAttempts = attempts.filter((attempt) => attempt.key === key);
  if (hasOrder(keyAttempts, [], stored, new Set())) return [];
  const promise =
    'the responses to a key are the responses of a service that handles one request after another';
  const lines = keyAttempts.map(({ task, status = 'no response', start, end }) => {
    return `${task} ${status} ${formatTime(start)} to ${formatTime(end)}`;
  });
  return [{ promise, how: [`key ${key}, ${stored.length} events`, ...lines].join('\n') }];
}

/** Whether some order of the attempts explains all responses. Uses the search of Wing and Gong. */
function hasOrder(
  left: readonly Attempt[],
  state: State,
  rows: readonly Row[],
  failed: Set<string>,
): boolean {
  const mustCome = left.filter(isDecided);
  if (mustCome.length === 0 && state.length === rows.length) return true;
  const position = `${state.length} ${left.map(({ task }) => task).join()}`;
  if (failed.has(position)) return false;
  const firstEnd = Math.min(...mustCome.map(({ end }) => end));
  for (const attempt of left.filter(({ start }) => start <= firstEnd)) {
    const rest = left.filter((other) => other !== attempt);
    const isPossible = listAllowed(state, attempt, rows)
      // An attempt without a response changes the state only if the service accepted it.
      .filter(({ status }) => status === (isDecided(attempt) ? attempt.status : 202))
      .filter(({ id }) => !isDecided(attempt) || id === undefined || id === attempt.id)
      .some(({ next }) => hasOrder(rest, next, rows, failed));
    if (isPossible) return true;
  }
  failed.add(position);
  return false;
}

/** Whether the response shows if the event was stored. A 500 does not show it. */
function isDecided({ status }: Attempt): boolean {
  return status !== undefined && status < 500;
}
