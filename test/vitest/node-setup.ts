/**
 * Runs with each test file in Node. The files of one worker share its process, so this leaves none
 * of a file's environment variables, and no clock that it has set, to the next one.
 */

import { join } from 'node:path';
import { afterAll, inject, vi } from 'vitest';

// Tests start many programs: Node caches compiled code for the next one. (Vitest's own processes
// would write theirs when the directory has been removed.)
process.env.NODE_COMPILE_CACHE = join(inject('runDirectory'), 'compiled');

const environment = { ...process.env };

// Registered before the file's own, so it runs after them.
afterAll(() => {
  vi.useRealTimers();
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
});
