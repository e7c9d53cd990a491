/**
 * Handles every event in the order of the stream. Stores `checkpoint.json` and `handled.txt` in the
 * current folder. After a restore of the database, start it with the time of the backup:
 * `SINCE=2026-11-21T12:00:00Z node follow-events.ts`.
 */

import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { callForJson } from './call.ts';

type Event = { id: string; type: string; aggregate_id: string; payload: Record<string, unknown> };
type Page = { data: Event[]; resume_cursor: string };
type Checkpoint = { since: string; cursor: string };

/**
 * Replace the body with your own work. After a crash, the function can receive the same event
 * twice, so make the work safe to repeat for the same `event.id`.
 */
async function handle(event: Event) {
  console.log(event.id, event.type, event.aggregate_id);
}

const readText = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const handled = new Set(readText('handled.txt').split('\n'));
let { since, cursor }: Checkpoint = JSON.parse(
  readText('checkpoint.json') || '{"since":"","cursor":""}',
);
const { SINCE } = process.env;
if (SINCE && SINCE !== since) [since, cursor] = [SINCE, ''];

console.error(
  `following events ${cursor ? 'after the checkpoint' : `from ${since || 'the first'} on`}`,
);

for (;;) {
  const query = new URLSearchParams({ order: 'asc', limit: '100', wait: '25' });
  if (since) query.set('created_after', since);
  if (cursor) query.set('cursor', cursor);
  const page = await callForJson<Page>(`/api/v1/events?${query}`);
  for (const event of page.data.filter(({ id }) => !handled.has(id))) {
    await handle(event);
    handled.add(event.id);
    appendFileSync('handled.txt', `${event.id}\n`);
  }
  cursor = page.resume_cursor;
  writeFileSync('checkpoint.new', JSON.stringify({ since, cursor }));
  renameSync('checkpoint.new', 'checkpoint.json');
}
