/**
 * A backup and a restore with `--remote`, against the limit of Cloudflare's API, while a Worker
 * accepts events. `FULL=1` has a million events, and prints the calls.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { command as backup } from '../../tools/backup.ts';
import { openAccount } from '../../tools/cloudflare/account.ts';
import { restDatabase, type WithDatabase } from '../../tools/database/open.ts';
import { command as restore } from '../../tools/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { ACCOUNT_ID, CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { runWith } from '../support/node/in-process.ts';
import { MovableClock } from '../support/node/movable-clock.ts';

const EVENTS = process.env.FULL ? 1_000_000 : 10_000;
/** Of 600 bytes each: a call reads 2 MB, and sends 1 MB of JSON. */
const MAX_READS = Math.ceil(EVENTS / 3_000) + 40;
const MAX_WRITES = Math.ceil(EVENTS / 1_300) + 2;
const MINUTES = process.env.FULL ? 30 : 2;

const folder = mkdtempSync(join(tmpdir(), 'large-'));
const file = join(folder, 'backup.sql');
const clock = new MovableClock();
const cloudflare = new CloudflareStandIn();
const production = new Database('production').migrate();
const copy = new Database('copy').migrate();

beforeAll(async () => {
  await cloudflare.start();
  cloudflare.now = clock.now;
  cloudflare.databases.push(production, copy);
  production.sqlite.exec(
    `INSERT INTO events (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, created_at, payload)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${EVENTS})
     SELECT 'e-' || i, 'e-' || i, '${'f'.repeat(64)}', '${'r'.repeat(36)}', 'booking.created', 'booking', 'bk_' || i / 2, i,
       '{"guest":{"name":"Anna Example","email":"anna' || i || '@example.com"},"note":"${'x'.repeat(300)}"}' FROM n`,
  );
});
afterAll(() => {
  cloudflare.stop();
  rmSync(folder, { recursive: true });
});

/** Opens a database as `--remote` does. */
function remotely({ uuid }: Database): WithDatabase {
  return async (_target, work) => {
    const account = await openAccount(ACCOUNT_ID, [1, 1, 1, 1], clock);
    return work(restDatabase(account, uuid));
  };
}

/** Runs a command, and returns its outcome with its calls and its pauses. */
async function count<T>(title: string, run: () => Promise<T>) {
  const [calls, ms] = [cloudflare.requests.length, clock.sleptMs];
  const outcome = await run();
  const used = {
    calls: cloudflare.requests.length - calls,
    pausedSeconds: (clock.sleptMs - ms) / 1_000,
  };
  if (process.env.FULL) console.log(title, EVENTS, used);
  return { outcome, ...used };
}

const runRestore = () => runWith(remotely(copy), restore, file, '--no-ledger');

it('are complete, although the API blocks them, the restore is killed, and events arrive', {
  timeout: MINUTES * 60_000,
}, async () => {
  // Another program of the user calls the API too.
  cloudflare.count(1_200);
  const saved = await count('backup', () => runWith(remotely(production), backup, '--out', file));
  expect(saved.outcome).toMatchObject({ code: 0 });
  expect(saved.outcome.stderr).toMatch(/waits until \d\d:\d\d:\d\d and then continues\.\n$/);
  expect(saved.calls).toBeLessThan(MAX_READS);
  expect(saved.pausedSeconds).toBeGreaterThanOrEqual(300);

  // From the first call that changes something on, the Worker stores an event before each call.
  let accepted = 0;
  let sent = 0;
  let endsAfter = EVENTS / 3_000;
  cloudflare.fault = (_, body) => {
    if (accepted > 0 || body.includes('restoring_')) {
      accepted += 1;
      copy.sqlite.exec(
        `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
         VALUES ('live-${accepted}', 'booking.created', 'booking', 'live', 1, '{}')`,
      );
    }
    if (/INSERT OR REPLACE INTO [^ ]*_events/.test(body)) sent += 1;
    return sent > endsAfter ? { status: 400 } : undefined;
  };
  const killed = await count('killed', runRestore);
  expect(killed.outcome.code).toBe(1);
  expect(sent).toBeGreaterThan(3);
  endsAfter = Number.POSITIVE_INFINITY;
  const rest = await count('continued', runRestore);
  expect(rest.outcome).toMatchObject({ code: 0, stderr: '' });
  expect(sent).toBeLessThan(MAX_WRITES);

  const [stored] = copy.rows(
    `SELECT count(*) FILTER (WHERE id LIKE 'e-%' AND seq <= ${EVENTS}) AS restored,
         count(*) FILTER (WHERE id LIKE 'live-%' AND seq > ${EVENTS}) AS live FROM events`,
  );
  expect(stored).toEqual({ restored: EVENTS, live: accepted });
});
