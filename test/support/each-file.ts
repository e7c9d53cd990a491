/**
 * Runs with each test file in workerd. The files of one worker share its runtime, so this gives each one
 * empty storage, its own tables, and a clock that runs.
 */

import { applyD1Migrations, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterAll, expect, vi } from 'vitest';

await reset();
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

// Registered before the file's own, so it runs after them.
afterAll(() => {
  const isClockLeftStill = vi.isFakeTimers();
  vi.useRealTimers();
  expect(isClockLeftStill).toBe(false);
});
