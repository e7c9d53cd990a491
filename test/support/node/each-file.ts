/**
 * Runs with each test file in Node. The files of one worker share its modules and its process, so this
 * leaves none of a file's services, log lines and environment variables to the next one.
 */

import { afterAll, expect } from 'vitest';
import { forgetServices, takeFindings } from '../watch-service-log.ts';

const environment = { ...process.env };

// Registered before the file's own, so it runs after them.
afterAll(() => {
  const findings = takeFindings();
  forgetServices();
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
  expect(findings).toEqual([]);
});
