/** The time for which a call of D1 is repeated. */

import { describe, expect, it } from 'vitest';
import { readD1 } from '../../src/storage/d1.ts';

const LOCKED = [
  'D1_ERROR: database is locked: SQLITE_BUSY',
  'D1_ERROR: Failed to get session commit token: internal error',
];
const CONNECTION_LOST = 'D1_ERROR: Network connection lost.';

/** Calls what fails for so long, and returns the outcome and how long it took. */
async function read(message: string, failsForMs: number) {
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  let attempts = 0;
  const outcome = await readD1(async () => {
    attempts += 1;
    if (elapsed() < failsForMs) throw new Error(message);
    return 'read';
  }).catch((error: unknown) => String(error));
  return { outcome, attempts, took: elapsed() };
}

describe('a read', () => {
  it.concurrent.each(LOCKED)('waits for a lock that lasts three seconds: %s', async (message) => {
    const { outcome, took } = await read(message, 3_000);
    expect(outcome).toBe('read');
    expect(took).toBeLessThan(5_000);
  });

  it.concurrent('gives up a lock that lasts longer than a read may take', async () => {
    const { outcome, attempts, took } = await read(LOCKED[0] ?? '', 60_000);
    expect(outcome).toContain('SQLITE_BUSY');
    expect(took).toBeGreaterThan(4_500);
    expect(took).toBeLessThan(5_500);
    expect(attempts).toBeGreaterThan(10);
  });

  it.concurrent('repeats another passing fault for 1.5 s, at most five times in all', async () => {
    const { outcome, attempts, took } = await read(CONNECTION_LOST, 60_000);
    expect(outcome).toContain('Network connection lost');
    expect(attempts).toBe(5);
    expect(took).toBeLessThan(2_500);
  });

  it.concurrent('does not repeat a fault that stays', async () => {
    expect((await read('D1_ERROR: no such table', 60_000)).attempts).toBe(1);
  });
});
