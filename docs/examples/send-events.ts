/**
 * Sends the events in a file: `node send-events.ts events.jsonl`. Each line is an event in the form
 * of a batch item, with its `idempotency_key`. After a failure, run the command again.
 */

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { callForJson, makeEventId } from './call.ts';

type Body = { aggregate_type: string; aggregate_id: string; payload: object };
type Event = Body & { idempotency_key: string; event_type: string };
type StoredEvent = Body & { id: string; type: string; erased_at: string | null };
type Result = {
  idempotency_key: string;
  event: { id: string } | null;
  error: { code: string } | null;
};
type List<Item> = { object: string; data: Item[] };

/** Returns the stored events that have the same idempotency keys, by id. */
async function findStored(events: readonly Event[]): Promise<Map<string, StoredEvent>> {
  const ids = events.map((event) => makeEventId(event.idempotency_key));
  const { data } = await callForJson<List<StoredEvent>>(`/api/v1/events?id=${ids}`);
  return new Map(data.map((stored) => [stored.id, stored]));
}

/** Whether a stored event equals the event to send. An erased payload counts as equal. */
function isSame(event: Event, stored: StoredEvent): boolean {
  const { aggregate_type, aggregate_id, payload } = event;
  return (
    event.event_type === stored.type &&
    aggregate_type === stored.aggregate_type &&
    aggregate_id === stored.aggregate_id &&
    (stored.erased_at !== null || isDeepStrictEqual(payload, stored.payload))
  );
}

/** Whether the results match the events one by one, in the same order. */
function areResultsFor(events: readonly Event[], results: readonly Result[]): boolean {
  return (
    results.length === events.length &&
    results.every(({ idempotency_key: key, event, error }, index) => {
      const isStored = event?.id === makeEventId(key);
      return key === events[index]?.idempotency_key && (isStored || error !== null);
    })
  );
}

function reportConflict(key: string): void {
  console.error(`${key}: another body is stored or sent under this key`);
  process.exitCode = 1;
}

const lines = readFileSync(process.argv[2] ?? '', 'utf8')
  .trim()
  .split('\n');
let mayHaveArrived = true;
for (let sent = 0; sent < lines.length; sent += 100) {
  const events = lines.slice(sent, sent + 100).map((line): Event => JSON.parse(line));
  const stored: Map<string, StoredEvent> = mayHaveArrived ? await findStored(events) : new Map();
  // Events are sent in order. If none of a hundred events has arrived, no later event has arrived.
  mayHaveArrived = stored.size > 0;
  const missing = events.filter((event) => !stored.has(makeEventId(event.idempotency_key)));
  console.log(`${sent}: ${stored.size} have arrived, ${missing.length} to send`);
  for (const event of events) {
    const storedEvent = stored.get(makeEventId(event.idempotency_key));
    if (storedEvent && !isSame(event, storedEvent)) reportConflict(event.idempotency_key);
  }
  if (missing.length === 0) continue;
  const body = JSON.stringify({ events: missing });
  const path = '/api/public/events/ingest/batch';
  const { object, data } = await callForJson<List<Result>>(path, { method: 'POST', body });
  if (object !== 'list' || !areResultsFor(missing, data))
    throw new Error(`${path}: the response has no result for each event`);
  for (const { idempotency_key, error } of data) if (error) reportConflict(idempotency_key);
}
