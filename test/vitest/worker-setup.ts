/**
 * Runs before each test file in workerd. Empties the storage and creates the tables, because all
 * files of a worker share one runtime.
 */

import { applyD1Migrations, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, vi } from 'vitest';

/** Maximum number of resets. In practice, at most two are needed. */
const MAX_RESETS = 5;

await emptyStorage();
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

// Removes the test's fake clock and spies.
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Resets the storage until it is empty, because a large database can survive the first reset. */
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
