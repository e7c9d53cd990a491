/**
 * Sends a file of events, and may be run again after any failure: `node send-events.ts
 * events.jsonl`. Each line is an event of a batch, with its `idempotency_key`.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { callForJson } from './call.ts';

type Event = { idempotency_key: string };
type Result = { idempotency_key: string; error: { code: string } | null };

const NAMESPACE = Buffer.from('3c0f4e0e7b524d0c9a561f2be2d7c9a4', 'hex');

/** The id of a key's first event: the version 5 UUID of the key. */
function idOf(key: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(key).digest().subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x50;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

async function arrivedOf(ids: readonly string[]): Promise<Set<string>> {
  const { data } = await callForJson<{ data: { id: string }[] }>(`/api/v1/events?id=${ids}`);
  return new Set(data.map(({ id }) => id));
}

const lines = readFileSync(process.argv[2] ?? '', 'utf8')
  .trim()
  .split('\n');
let mayHaveArrived = true;
for (let sent = 0; sent < lines.length; sent += 100) {
  const events = lines.slice(sent, sent + 100).map((line): Event => JSON.parse(line));
  const ids = events.map((event) => idOf(event.idempotency_key));
  const arrived: Set<string> = mayHaveArrived ? await arrivedOf(ids) : new Set();
  // Events are sent in their order: behind a hundred that have not arrived, none has.
  mayHaveArrived = arrived.size > 0;
  const missing = events.filter((event) => !arrived.has(idOf(event.idempotency_key)));
  console.log(`${sent}: ${arrived.size} have arrived, ${missing.length} to send`);
  if (missing.length === 0) continue;
  const body = JSON.stringify({ events: missing });
  const path = '/api/public/events/ingest/batch';
  const { data } = await callForJson<{ data: Result[] }>(path, { method: 'POST', body });
  for (const { idempotency_key, error } of data) {
    if (error) console.error(idempotency_key, error.code);
  }
}
