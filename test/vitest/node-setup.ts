/**
 * Runs with each test file in Node. Resets environment variables and the clock after each file,
 * because the files of one worker share its process.
 */

import { join } from 'node:path';
import { afterAll, inject, vi } from 'vitest';

// Node caches compiled code for the next program, because tests start many. Vitest's own processes
// do not, because they would write it after the directory has been removed.
process.env.NODE_COMPILE_CACHE = join(inject('runDirectory'), 'compiled');

const environment = { ...process.env };

// Runs after the hooks of the file, because it is registered first.
afterAll(() => {
  vi.useRealTimers();
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
});
