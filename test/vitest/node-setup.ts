/**
 * Runs with each test file in Node. The files of one worker share its process, so this leaves none
 * of a file's environment variables to the next one.
 */

import { afterAll } from 'vitest';

const environment = { ...process.env };

// Registered before the file's own, so it runs after them.
afterAll(() => {
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
});
