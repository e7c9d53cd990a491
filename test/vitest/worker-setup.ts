/**
 * Runs with each test file in workerd. The files of one worker share its runtime, so this gives
 * each one empty storage and its own tables.
 */

import { applyD1Migrations, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, vi } from 'vitest';

/** A second attempt has always been enough. */
const MAX_RESETS = 5;

await emptyStorage();
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

// Each test ends with the real clock, and without its spies.
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/**
 * Resets until the tables of the file before are gone: a large database may outlive the first
 * reset.
 */
async function emptyStorage(): Promise<void> {
  const tables = env.DB.prepare(
    `SELECT count(*) AS tables FROM sqlite_schema WHERE name = 'd1_migrations'`,
  );
  for (let resets = 0; resets < MAX_RESETS; resets += 1) {
    await reset();
    if ((await tables.first('tables')) === 0) return;
  }
  throw new Error(`the storage is not empty after ${MAX_RESETS} resets`);
}
