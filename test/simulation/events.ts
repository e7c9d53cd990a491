/**
 * Plans that press the ingest, and the guarantee of docs/reference/events.md: the answers to one key must be those
 * of a service that takes the requests one by one (Herlihy and Wing's linearizability).
 */

import { v5 } from 'uuid';
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

const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const RETENTION_MS = 60_000;
/** No clock is further from the true time than this. */
const MAX_CLOCK_ERROR_MS = 2_000;
const FOLLOWER = '203.0.113.9';

/** Guests of the payload, by the name of the body. The last one does not fit the schema. */
const BODIES = { A: 1, B: 2, C: 3, invalid: 0 };
type BodyName = keyof typeof BODIES;

const bodyOf = (name: BodyName, aggregateId: string) => ({
  event_type: 'booking.created',
  aggregate_type: 'booking',
  aggregate_id: aggregateId,
  payload: { guests: BODIES[name] },
});

type Sent = ReturnType<typeof bodyOf>;

/** Makes the events of a batch. One of them at most does not fit its schema. */
function batchOf(random: Random): (Sent & { idempotency_key: string })[] {
  const keys = random.pick([
    ['k', 'l'],
    ['l', 'k'],
    ['m', 'k', 'l'],
    ['k', 'm'],
  ]);
  const invalid = random.chance(0.2) ? random.pick(keys) : undefined;
  return keys.map((key) => {
    const body = key === invalid ? 'invalid' : random.pick<BodyName>(['A', 'A', 'B']);
    return { idempotency_key: key, ...bodyOf(body, key) };
  });
}

export const EVENTS: Part = { planOf, finish: followToTheEnd, violationsIn };

function planOf(seed: string): Plan {
  const random = new Random(`events ${seed}`);
  const machines = machinesOf(random, random.between(2, 4));
  const isRough = random.chance(0.7);
  const roughness = () => (isRough ? random.pick([0, 0.1, 0.3, 0.6]) : 0);
  const operations: Operation[] = [];
  // Bursts: at the start, at some time within the retention, where it ends, and after it.
  const bursts = [0, random.between(1_000, 56_000), random.between(57_000, 66_000), 125_000];
  for (const [burst, startMs] of bursts.entries()) {
    const spreadMs = random.pick([5, 100, 2_000, 9_000]);
    const bodies = random.pick<BodyName[]>([['A'], ['A', 'B'], ['A', 'A', 'B', 'C', 'invalid']]);
    for (let index = random.between(burst === 0 ? 1 : 0, 5); index > 0; index -= 1) {
      const key = random.chance(0.8) ? 'k' : random.pick(['l', null]);
      const body = key === null ? 'A' : random.pick(bodies);
      const machine = random.between(0, machines.length - 1);
      const hangUpMs = random.chance(0.1) ? random.between(1, 500) : undefined;
      operations.push({
        atMs: startMs + random.between(0, spreadMs),
        name: `request ${burst}.${index}`,
        roughness: roughness(),
        perform: ingest(`request ${burst}.${index}`, machine, key, body, hangUpMs),
      });
    }
    for (let index = random.between(0, 2); index > 0; index -= 1) {
      const machine = random.between(0, machines.length - 1);
      const events = batchOf(random);
      const hangUpMs = random.chance(0.1) ? random.between(1, 500) : undefined;
      operations.push({
        atMs: startMs + random.between(0, spreadMs),
        name: `batch ${burst}.${index}`,
        roughness: roughness(),
        perform: (world) =>
          world.send(
            machine,
            {
              method: 'POST',
              path: '/api/public/events/ingest/batch',
              client: '203.0.113.1',
              body: JSON.stringify({ events }),
              label: `a batch of ${events.map(({ idempotency_key }) => idempotency_key).join()}`,
            },
            hangUpMs,
          ),
      });
    }
    const reader = random.between(0, machines.length - 1);
    const waitSeconds = random.pick([0, 0, 1, 5]);
    operations.push({
      atMs: startMs + random.between(0, 20_000),
      name: `follower ${burst}`,
      roughness: roughness(),
      perform: (world) => follow(world, reader, waitSeconds),
    });
  }
  // Another body takes the key over elsewhere. The first one comes again where KV may remember its entry.
  const there = machines.findIndex(({ place }) => place !== machines[0]?.place);
  if (there > 0) {
    for (const [atMs, machine, body] of [
      [0, 0, 'A'],
      [50_000, 0, 'A'],
      [64_000, there, 'B'],
      [68_000, 0, 'A'],
    ] as const) {
      const name = `handover ${atMs}`;
      const perform = ingest(name, machine, 'm', body);
      operations.push({ atMs, name, roughness: roughness(), perform });
    }
  }
  for (let index = isRough ? random.between(0, 2) : 0; index > 0; index -= 1) {
    const atMs = random.pick(bursts) + random.between(0, 3_000);
    operations.push(kill(random, `kill ${index}`, machines.length, atMs));
  }
  if (isRough && random.chance(0.4)) {
    const service = random.pick(['D1', 'D1', 'KV', 'counter'] as const);
    const atMs = random.pick(bursts) + random.between(0, 1_000);
    operations.push(outage('outage', service, atMs, random.between(500, 20_000)));
  }
  const vars = { IDEMPOTENCY_RETENTION_SECONDS: String(RETENTION_MS / 1_000) };
  return { seed, machines, vars, operations, endMs: 200_000 };
}

/** Returns what sends one event. */
function ingest(
  name: string,
  machine: number,
  key: string | null,
  body: BodyName,
  hangUpMs?: number,
): Operation['perform'] {
  const request = {
    method: 'POST',
    path: '/api/public/events/ingest',
    client: '203.0.113.1',
    headers: key === null ? {} : { 'Idempotency-Key': key },
    body: JSON.stringify(bodyOf(body, key ?? name)),
    label: `key ${key ?? 'none'}, body ${body}`,
  } as const;
  return (world) => world.send(machine, request, hangUpMs);
}

/** The ids that the follower of a world has read, and the cursor of its last answer. */
type Followed = { seen: string[]; cursor: string };
const followed = new WeakMap<World, Followed>();

function followedIn(world: World): Followed {
  const known = followed.get(world) ?? { seen: [], cursor: '' };
  followed.set(world, known);
  return known;
}

/** Reads the next page, behind the last answer. Returns whether more follow. */
async function follow(world: World, machine: number, waitSeconds = 0): Promise<boolean> {
  const known = followedIn(world);
  const { cursor } = known;
  const after = cursor === '' ? '' : `&cursor=${cursor}`;
  const waiting = waitSeconds === 0 ? '' : `&wait=${waitSeconds}`;
  const { status, body } = await world.send(machine, {
    method: 'GET',
    path: `/api/v1/events?order=asc&limit=3${waiting}${after}`,
    client: FOLLOWER,
    label: `events after ${known.seen.at(-1) ?? 'none'}${waiting}`,
  });
  // Two reads that overlap begin at the same place: the later answer says nothing new.
  if (status !== 200 || known.cursor !== cursor) return true;
  const { data, has_more, resume_cursor } = body as {
    data: { id: string }[];
    has_more: boolean;
    resume_cursor: string;
  };
  known.seen.push(...data.map(({ id }) => id));
  known.cursor = resume_cursor;
  return has_more;
}

async function followToTheEnd(world: World): Promise<void> {
  for (let page = 0, hasMore = true; hasMore && page < 50; page += 1) {
    const reading = world.run(`last page ${page}`, 0, () => follow(world, 0));
    await world.scheduler.runUntil(world.scheduler.now + 60_000);
    hasMore = await reading;
  }
}

type Row = {
  id: string;
  key_id: string | null;
  receipt: string | null;
  payload: string;
  created_at: number;
  aggregate_id: string;
};

/** One event as a request sent it, and the answer to it: for an item of a batch, the status that a single one gets. */
type Told = {
  task: string;
  start: number;
  end: number;
  key: string | null;
  event: Sent;
  status?: number;
  id?: string;
};

const STATUSES: Record<string, number> = { accepted: 202, replayed: 200, conflict: 409 };

/** Returns the events of a request. */
function toldIn({ task, start, end, request, status, body }: Exchange): Told[] {
  const sent = JSON.parse(request.body ?? '');
  const times = { task, start, end };
  const answer = status === undefined ? {} : { status };
  if (sent.events === undefined) {
    const key = request.headers?.['Idempotency-Key'] ?? null;
    return [{ ...times, key, event: sent, ...answer, id: Object(body).id }];
  }
  const items: (Sent & { idempotency_key: string })[] = sent.events;
  return items.flatMap(({ idempotency_key: key, ...event }, index) => {
    const told = { ...times, key, event };
    const result = Object(body).data?.[index];
    if (result !== undefined) {
      return [{ ...told, status: STATUSES[result.outcome] ?? 0, id: result.event?.id }];
    }
    // A batch that is refused says it of the item that does not fit, and has stored none.
    const isRefused = status === 400 && event.payload.guests !== BODIES.invalid;
    return isRefused ? [] : [{ ...told, ...answer }];
  });
}

function violationsIn(world: World): Violation[] {
  const rows = world.fleet.primary.rows('select * from events order by seq') as unknown as Row[];
  const requests = world.exchanges.filter(({ request }) => request.method === 'POST');
  const sent = requests.flatMap(toldIn);
  return [
    ...storedOnce(rows, sent),
    ...batchesAreWhole(rows, requests),
    ...followerMissesNone(rows, followedIn(world).seen),
    ...['k', 'l', 'm'].flatMap((key) => linearizable(key, rows, sent)),
  ];
}

function storedOnce(rows: readonly Row[], sent: readonly Told[]): Violation[] {
  const promise = 'every acknowledged event is stored, once, under its id';
  const violations: Violation[] = [];
  for (const { event, status, id, task } of sent) {
    if (status !== 200 && status !== 202) continue;
    const stored = rows.filter((row) => row.id === id);
    const isIt = stored[0]?.payload === JSON.stringify(event.payload);
    if (stored.length !== 1 || !isIt || stored[0]?.aggregate_id !== event.aggregate_id) {
      violations.push({ promise, how: `${task} was told of ${id}: ${JSON.stringify(stored)}` });
    }
  }
  const facts = rows.map(
    ({ key_id, aggregate_id, payload }) => `${key_id} ${aggregate_id} ${payload}`,
  );
  const twice = facts.find((fact, index) => facts.indexOf(fact) !== index);
  if (twice !== undefined) violations.push({ promise, how: `stored twice: ${twice}` });
  return violations;
}

/** The events that one request has stored have its receipt: they are next to each other, in the order sent. */
function batchesAreWhole(rows: readonly Row[], requests: readonly Exchange[]): Violation[] {
  const promise = 'the events of a batch are stored next to each other, in the order sent, or not';
  const violations: Violation[] = [];
  for (const [receipt, own] of Map.groupBy(rows, (row) => row.receipt)) {
    const first = rows.findIndex((row) => row.receipt === receipt);
    if (receipt === null || rows.slice(first, first + own.length).every((row) => own.includes(row)))
      continue;
    violations.push({ promise, how: `receipt ${receipt}: ${JSON.stringify(rows)}` });
  }
  for (const { task, body } of requests) {
    const results: { outcome: string; event: { id: string } | null }[] = Object(body).data ?? [];
    const accepted = results.filter(({ outcome }) => outcome === 'accepted');
    const ids = accepted.map(({ event }) => event?.id);
    const first = rows.findIndex(({ id }) => id === ids[0]);
    const stored = rows.slice(first, first + ids.length).map(({ id }) => id);
    if (ids.length > 0 && stored.join() !== ids.join()) {
      violations.push({ promise, how: `${task} was told of ${ids}, stored are ${stored}` });
    }
  }
  return violations;
}

function followerMissesNone(rows: readonly Row[], seen: readonly string[]): Violation[] {
  const stored = rows.map(({ id }) => id);
  if (JSON.stringify(stored) === JSON.stringify(seen)) return [];
  const how = `stored ${stored.join(' ')}\nread   ${seen.join(' ')}`;
  return [{ promise: 'a follower reads every event once, in the order of the commits', how }];
}

/** The facts of a request: its body, and the clock readings that it may have taken. */
type Call = { told: Told; body: BodyName; earliest: number; latest: number };

/** The state of a key: the events that it has stored, oldest first. The last one holds it. */
type State = readonly { body: BodyName; id: string; at: number }[];

/** An answer that the promises allow, and the state after it. */
type Allowed = { status: number; id?: string; next: State };

/** The guarantee: the answers that a request may get in a state of its key. */
function allowedIn(
  state: State,
  { body, earliest, latest }: Call,
  rows: readonly Row[],
): Allowed[] {
  const allowed: Allowed[] = [];
  // An event that held the key until a moment ago may still hold it by the clock of another machine.
  for (const event of state.filter(({ at }) => at + RETENTION_MS > earliest)) {
    if (event.body === body) allowed.push({ status: 200, id: event.id, next: state });
    else allowed.push({ status: 409, next: state });
  }
  const holder = state.at(-1);
  if (holder !== undefined && holder.at + RETENTION_MS > latest) return allowed;
  const known = state.find((event) => event.body === body);
  if (known !== undefined) return [...allowed, { status: 200, id: known.id, next: state }];
  if (body === 'invalid') return [...allowed, { status: 400, next: state }];
  // The rows tell which event was stored when: acceptances can only come in this order.
  const row = rows[state.length];
  const isIt = row?.payload === JSON.stringify({ guests: BODIES[body] });
  if (row === undefined || !isIt || row.created_at < earliest || row.created_at > latest)
    return allowed;
  const event = { body, id: row.id, at: row.created_at };
  return [...allowed, { status: 202, id: row.id, next: [...state, event] }];
}

function linearizable(key: string, rows: readonly Row[], sent: readonly Told[]): Violation[] {
  const promise = 'the answers to a key are those of requests that come one by one';
  const keyId = v5(key, NAMESPACE);
  const stored = rows.filter(({ key_id }) => key_id === keyId);
  if (stored[0] !== undefined && stored[0].id !== keyId) {
    return [{ promise: 'the first event of a key has the id of the key', how: stored[0].id }];
  }
  const calls = sent
    .filter((told) => told.key === key)
    .map((told): Call => {
      const { guests } = told.event.payload;
      const body =
        (Object.keys(BODIES) as BodyName[]).find((name) => BODIES[name] === guests) ?? 'A';
      const earliest = told.start - MAX_CLOCK_ERROR_MS;
      return { told, body, earliest, latest: told.end + MAX_CLOCK_ERROR_MS };
    });
  if (hasOrder(calls, [], stored, new Set())) return [];
  const history = calls.map(({ told: { task, status, start, end } }) => {
    return `${task} ${status ?? 'no answer'} ${timeOf(start)} to ${timeOf(end)}`;
  });
  return [{ promise, how: `key ${key}, ${stored.length} events\n${history.join('\n')}` }];
}

/** Looks for an order of the calls that explains all answers (Wing and Gong's search). */
function hasOrder(
  left: readonly Call[],
  state: State,
  rows: readonly Row[],
  failed: Set<string>,
): boolean {
  // A request without an answer, or with a 500, may have done its work or not.
  const mustCome = left.filter(({ told }) => isAnswered(told));
  if (mustCome.length === 0 && state.length === rows.length) return true;
  const position = `${state.length} ${left.map(({ told }) => told.task).join()}`;
  if (failed.has(position)) return false;
  const firstEnd = Math.min(...mustCome.map(({ told }) => told.end));
  for (const call of left) {
    const { told } = call;
    if (told.start > firstEnd) continue;
    const rest = left.filter((other) => other !== call);
    for (const { status, id, next } of allowedIn(state, call, rows)) {
      if (isAnswered(told) && (told.status !== status || (id !== undefined && told.id !== id))) {
        continue;
      }
      // Without an answer, only an acceptance makes a difference.
      if (!isAnswered(told) && status !== 202) continue;
      if (hasOrder(rest, next, rows, failed)) return true;
    }
  }
  failed.add(position);
  return false;
}

/** After a 500, the event may or may not be stored. */
function isAnswered({ status }: Told): boolean {
  return status !== undefined && status < 500;
}
