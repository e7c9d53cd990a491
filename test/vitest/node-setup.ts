/**
 * Runs before each test file in Node. Restores the environment variables and the clock after the
 * file, because all files of a worker share one process.
 */

import { join } from 'node:path';
import { afterAll, inject, vi } from 'vitest';

// Tests start many programs, which can share Node's cache of compiled code. Vitest's own processes do
// not use the cache, because they would write to it after the directory has been removed.
process.env.NODE_COMPILE_CACHE = join(inject('runDirectory'), 'compiled');

const environment = { ...process.env };

// Registered before the file's own hooks, so it runs after them.
afterAll(() => {
  vi.useRealTimers();
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
});
