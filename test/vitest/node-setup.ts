/**
 * Runs with each test file in Node. The files of one worker share its process, so this leaves none
 * of a file's environment variables, and no clock that it has set, to the next one.
 */

import { afterAll, vi } from 'vitest';

const environment = { ...process.env };

// Registered before the file's own, so it runs after them.
afterAll(() => {
  vi.useRealTimers();
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
});
