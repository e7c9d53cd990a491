/**
 * Implements the outbox of a booking system. `node outbox.ts bk_7 4` stores a booking for four
 * guests together with its event. `node outbox.ts` sends the stored events until it is stopped.
 */

import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { call, makeEventId, NotFromService } from './call.ts';

/**
 * SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL mean that another program has locked the database.
 */
const LOCKED_CODES = [5, 6, 15];

const database = new DatabaseSync('bookings.sqlite', { timeout: 5_000 });
const createTables = () =>
  database.exec(`
  CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS outbox (
    seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    event TEXT NOT NULL CHECK (json_valid(event)), problem TEXT
  );
`);
await whenUnlocked(createTables);

/** Runs a statement. Retries while another program locks the database. */
async function whenUnlocked<Result>(run: () => Result): Promise<Result> {
  for (;;) {
    try {
      return run();
    } catch (error) {
      const { errcode = 0, message } = error as { errcode?: number; message: string };
      // The low byte of an extended result code is the primary result code.
      if (!LOCKED_CODES.includes(errcode & 0xff)) throw error;
      console.error(`bookings.sqlite: ${message}, next attempt in 1 s`);
      await pause(1_000);
    }
  }
}

/**
 * Encodes text in ASCII, because HTTP clients agree only on ASCII headers. RFC 3986 encoding is the
 * same in every language.
 */
const encodeAscii = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Stores a booking and its event in one transaction. */
function book(id: string, guests: number): void {
  const payload = { occurred_at: new Date().toISOString(), guests };
  const entity = { aggregate_type: 'booking', aggregate_id: id };
  const event = JSON.stringify({ event_type: 'booking.created', ...entity, payload });
  // All senders share one set of keys, so a key begins with the name of the sender.
  const key = `bookings-${encodeAscii(id)}-created`;
  database.exec('BEGIN IMMEDIATE');
  try {
    database.prepare('INSERT INTO bookings VALUES (?, ?)').run(id, guests);
    const write = database.prepare('INSERT INTO outbox (key, event) VALUES (?, ?)');
    write.run(key, event);
    database.exec('COMMIT');
    console.log(`stored ${id} with the event ${key}`);
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Selects the oldest row that can be sent. A rejected row holds back the later rows of its booking.
 */
const oldest = database.prepare(`
  SELECT * FROM outbox AS waiting WHERE problem IS NULL AND NOT EXISTS (
    SELECT 1 FROM outbox AS aside WHERE aside.problem IS NOT NULL AND aside.seq < waiting.seq
      AND json_extract(aside.event, '$.aggregate_type', '$.aggregate_id')
        = json_extract(waiting.event, '$.aggregate_type', '$.aggregate_id')
  ) ORDER BY seq LIMIT 1
`);
const remove = database.prepare('DELETE FROM outbox WHERE seq = ?');
const setAside = database.prepare('UPDATE outbox SET problem = ? WHERE seq = ?');

type Outcome = { status: number; text: string };

/**
 * Sends an event. Returns the status 200 or 202 if the event is stored, or the status and text of a
 * rejection. Throws for other responses.
 */
async function send(key: string, event: string): Promise<Outcome> {
  const init = { method: 'POST', headers: { 'Idempotency-Key': key }, body: event };
  const response = await call('/api/public/events/ingest', init);
  const { status } = response;
  const text = await response.text();
  if (response.ok) {
    // A login page can also have the status 200.
    const { object, id } = JSON.parse(text);
    if (object !== 'event' || id !== makeEventId(key)) throw new NotFromService(response, text);
  } else if (![400, 409, 413].includes(status)) throw new Error(`${status} ${text}`);
  return { status, text };
}

/**
 * Sends an event like `send`. If a firewall rejects the event twice but lets another request pass,
 * the firewall rejects the event's text. In this case, returns the firewall's response.
 */
async function sendThroughFirewall(key: string, event: string): Promise<Outcome> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await send(key, event);
    } catch (error) {
      if (!(error instanceof NotFromService) || error.status < 400) throw error;
      const isServed = await call('/api/health').catch(() => undefined);
      if (!isServed) throw error;
      if (isAgain) return { status: error.status, text: error.message };
    }
  }
}

/** Sends the oldest event. Returns false if there is no event to send. */
async function sendOldest(): Promise<boolean> {
  const row = await whenUnlocked(() => oldest.get());
  if (!row) return false;
  const [key, seq] = [String(row.key), Number(row.seq)];
  const sent = sendThroughFirewall(key, String(row.event));
  const { status, text } = await sent.catch(({ message }: Error) => stop(`${key}: ${message}`));
  await whenUnlocked(() => (status < 300 ? remove.run(seq) : setAside.run(text, seq)));
  console.log(status < 300 ? `sent ${key}: ${status}` : `set aside ${key}: ${text}`);
  return true;
}

function stop(reason: string): never {
  console.error(reason);
  process.exit(1);
}

const [id, guests] = process.argv.slice(2);
if (id) book(id, Number(guests));
else {
  console.log('sending the outbox of bookings.sqlite');
  for (;;) if (!(await sendOldest())) await pause(1_000);
}
