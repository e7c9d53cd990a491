/**
 * Plans that press the ingest, and the guarantee of docs/reference/events.md: the responses to one
 * key must be those of a service that handles the requests one by one (Herlihy and Wing's
 * linearizability).
 */

import { deriveEventId } from '../support/keys.ts';
import { type Exchange, timeOf, type World } from './environment.ts';
import { Random } from './random.ts';
import { machinesOf, type Operation, type Plan, type Violation } from './simulation.ts';

const RETENTION_MS = 60_000;
/** No clock is further from the true time than this. */
const MAX_CLOCK_ERROR_MS = 2_000;

/** Guests of the payload, by the name of the body. The last one does not fit the schema. */
const BODIES = { A: 1, B: 2, C: 3, invalid: -1 };
type BodyName = keyof typeof BODIES;

const eventOf = (body: BodyName, aggregate_id: string) => ({
  event_type: 'booking.created',
  aggregate_type: 'booking',
  aggregate_id,
  payload: { guests: BODIES[body] },
});
type Sent = ReturnType<typeof eventOf>;
type Batch = { events: (Sent & { idempotency_key: string })[] };

export function events(seed: string): Plan {
  const random = new Random(`events ${seed}`);
  const machines = machinesOf(random, random.between(2, 4));
  const isRough = random.chance(0.7);
  const operations: Operation[] = [];
  const add = (atMs: number, name: string, perform: Operation['perform']) =>
    operations.push({
      atMs,
      name,
      roughness: isRough ? random.pick([0, 0.1, 0.3, 0.6]) : 0,
      perform,
    });
  const anyMachine = () => random.between(0, machines.length - 1);
  const hangUpMs = () => (random.chance(0.1) ? random.between(1, 500) : undefined);
  // Bursts: at the start, at some time within the retention, where it ends, and after it.
  const bursts = [0, random.between(1_000, 56_000), random.between(57_000, 66_000), 125_000];
  for (const [burst, startMs] of bursts.entries()) {
    const spreadMs = random.pick([5, 100, 2_000, 9_000]);
    const at = () => startMs + random.between(0, spreadMs);
    const bodies = random.pick<BodyName[]>([['A'], ['A', 'B'], ['A', 'A', 'B', 'C', 'invalid']]);
    for (let index = random.between(burst === 0 ? 1 : 0, 5); index > 0; index -= 1) {
      const key = random.chance(0.8) ? 'k' : random.pick(['l', null]);
      const body = key === null ? 'A' : random.pick(bodies);
      const name = `event ${burst}.${index}: key ${key}, body ${body}`;
      add(at(), name, ingest(anyMachine(), key, eventOf(body, key ?? name), hangUpMs()));
    }
    for (let index = random.between(0, 2); index > 0; index -= 1) {
      const batch = batchOf(random);
      const keys = batch.events.map(({ idempotency_key }) => idempotency_key);
      const name = `batch ${burst}.${index}: keys ${keys}`;
      add(at(), name, ingest(anyMachine(), null, batch, hangUpMs()));
    }
  }
  // Another body takes the key over elsewhere. The first one comes again where KV may remember its
  // entry.
  const there = machines.findIndex(({ place }) => place !== machines[0]?.place);
  if (there > 0) {
    for (const [atMs, machine, body] of [
      [0, 0, 'A'],
      [50_000, 0, 'A'],
      [64_000, there, 'B'],
      [68_000, 0, 'A'],
    ] as const) {
      add(atMs, `handover ${atMs}: body ${body}`, ingest(machine, 'm', eventOf(body, 'm')));
    }
  }
  for (let index = isRough ? random.between(0, 2) : 0; index > 0; index -= 1) {
    const [atMs, machine] = [random.pick(bursts) + random.between(0, 3_000), anyMachine()];
    add(atMs, `kill ${index}`, (world) => world.kill(machine));
  }
  if (isRough && random.chance(0.4)) {
    const service = random.pick(['D1', 'D1', 'KV', 'counter'] as const);
    const [atMs, forMs] = [
      random.pick(bursts) + random.between(0, 1_000),
      random.between(500, 20_000),
    ];
    add(atMs, 'outage', (world) => world.breakDown(service, forMs));
  }
  const vars = { IDEMPOTENCY_RETENTION_SECONDS: String(RETENTION_MS / 1_000) };
  return { seed, machines, vars, operations, endMs: 200_000, violationsIn };
}

/** Makes the events of a batch. One of them at most does not fit its schema. */
function batchOf(random: Random): Batch {
  const keys = random.pick([
    ['k', 'l'],
    ['l', 'k'],
    ['m', 'k', 'l'],
    ['k', 'm'],
  ]);
  const invalid = random.chance(0.2) ? random.pick(keys) : undefined;
  const events = keys.map((key) => {
    const body = key === invalid ? 'invalid' : random.pick<BodyName>(['A', 'A', 'B']);
    return { idempotency_key: key, ...eventOf(body, key) };
  });
  return { events };
}

const INGEST = '/api/public/events/ingest';

/** Sends an event or a batch. A batch has no key. */
function ingest(machine: number, key: string | null, sent: Sent | Batch, hangUpMs?: number) {
  const path = 'events' in sent ? `${INGEST}/batch` : INGEST;
  const headers = { 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) };
  const request = { path, headers, body: JSON.stringify(sent), hangUpMs };
  return (world: World) => world.send(machine, request);
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
 * One event as a request sent it, and its response: for an item of a batch, the status that a
 * single one gets.
 */
type Attempt = {
  task: string;
  start: number;
  end: number;
  key: string | null;
  event: Sent;
  status?: number | undefined;
  id?: string;
};

const STATUSES: Record<string, number> = { accepted: 202, replayed: 200, conflict: 409 };

/** Returns the events of a request. */
function attemptsIn({ task, start, end, request, status, body }: Exchange): Attempt[] {
  const sent: Sent | Batch = JSON.parse(request.body ?? '');
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
    // A batch that is rejected names the item that does not fit, and has stored none.
    const isAnother = status === 400 && event.payload.guests !== BODIES.invalid;
    return isAnother ? [] : [{ ...times, key, event, status }];
  });
}

function violationsIn(world: World): Violation[] {
  const rows = world.database.rows('select * from events order by seq') as Row[];
  const attempts = world.exchanges.flatMap(attemptsIn);
  return [
    ...storedOnce(rows, attempts),
    ...batchesAreWhole(rows, world.exchanges),
    ...['k', 'l', 'm'].flatMap((key) => linearizable(key, rows, attempts)),
  ];
}

function storedOnce(rows: readonly Row[], attempts: readonly Attempt[]): Violation[] {
  const promise = 'every acknowledged event is stored, once, under its id';
  const contentOf = (event: Sent) => `${event.aggregate_id} ${JSON.stringify(event.payload)}`;
  const stored = rows.map((row) => `${row.id} ${row.aggregate_id} ${row.payload}`);
  const missing = attempts
    .filter(({ status = 0 }) => status === 200 || status === 202)
    .filter(({ id, event }) => !stored.includes(`${id} ${contentOf(event)}`))
    .map(({ task, id }) => `${task} got ${id}, stored are ${stored}`);
  const facts = rows.map((row) => `${row.key_id} ${row.aggregate_id} ${row.payload}`);
  const twice = facts.filter((fact, index) => facts.indexOf(fact) !== index);
  return [...missing, ...twice].map((how) => ({ promise, how }));
}

/**
 * The events that one request has stored have its receipt: they are next to each other, in the
 * order sent.
 */
function batchesAreWhole(rows: readonly Row[], requests: readonly Exchange[]): Violation[] {
  const promise = 'the events of a batch are stored next to each other, in the order sent, or not';
  const stored = rows.map(({ id }) => id).join();
  const own = Map.groupBy(rows, ({ id, receipt }) => receipt ?? id);
  const byReceipt = [...own.values()].map((each) => each.map(({ id }) => id));
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

/** The state of a key: the events that it has stored, oldest first. The last one holds it. */
type State = readonly { body: string; id: string; at: number }[];

/** A response that the promises allow, and the state after it. */
type Allowed = { status: number; id?: string; next: State };

/** The guarantee: the responses that a request may get in a state of its key. */
function allowedIn(state: State, attempt: Attempt, rows: readonly Row[]): Allowed[] {
  const body = JSON.stringify(attempt.event.payload);
  // The clock readings that the request may have taken.
  const earliest = attempt.start - MAX_CLOCK_ERROR_MS;
  const latest = attempt.end + MAX_CLOCK_ERROR_MS;
  // An event that held the key until a moment ago may still hold it by the clock of another
  // machine.
  const allowed = state
    .filter(({ at }) => at + RETENTION_MS > earliest)
    .map((event): Allowed => {
      if (event.body === body) return { status: 200, id: event.id, next: state };
      return { status: 409, next: state };
    });
  const holder = state.at(-1);
  if (holder !== undefined && holder.at + RETENTION_MS > latest) return allowed;
  const known = state.find((event) => event.body === body);
  if (known !== undefined) return [...allowed, { status: 200, id: known.id, next: state }];
  if (attempt.event.payload.guests === BODIES.invalid) {
    return [...allowed, { status: 400, next: state }];
  }
  // The rows show which event was stored when: acceptances can only come in this order.
  const row = rows[state.length];
  if (row?.payload !== body || row.created_at < earliest || row.created_at > latest) return allowed;
  const event = { body, id: row.id, at: row.created_at };
  return [...allowed, { status: 202, id: row.id, next: [...state, event] }];
}

function linearizable(
  key: string,
  rows: readonly Row[],
  attempts: readonly Attempt[],
): Violation[] {
  const keyId = deriveEventId(key);
  const stored = rows.filter(({ key_id }) => key_id === keyId);
  if (stored[0] !== undefined && stored[0].id !== keyId) {
    return [{ promise: 'the first event of a key has the id of the key', how: stored[0].id }];
  }
  const own = attempts.filter((attempt) => attempt.key === key);
  if (hasOrder(own, [], stored, new Set())) return [];
  const promise = 'the responses to a key are those of requests that come one by one';
  const lines = own.map(({ task, status = 'no response', start, end }) => {
    return `${task} ${status} ${timeOf(start)} to ${timeOf(end)}`;
  });
  return [{ promise, how: [`key ${key}, ${stored.length} events`, ...lines].join('\n') }];
}

/** Looks for an order of the attempts that explains all responses (Wing and Gong's search). */
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
    const isPossible = allowedIn(state, attempt, rows)
      // Of an attempt without a response, only an acceptance makes a difference.
      .filter(({ status }) => status === (isDecided(attempt) ? attempt.status : 202))
      .filter(({ id }) => !isDecided(attempt) || id === undefined || id === attempt.id)
      .some(({ next }) => hasOrder(rest, next, rows, failed));
    if (isPossible) return true;
  }
  failed.add(position);
  return false;
}

/** A request without a response, or with a 500, may have stored its event or not. */
function isDecided({ status }: Attempt): boolean {
  return status !== undefined && status < 500;
}
