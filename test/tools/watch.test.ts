/** The tests that `npm run watch` runs for a saved file: ../vitest/watched-tests.ts. */

import { expect, it } from 'vitest';
import { CODE, watchedTests } from '../vitest/watched-tests.ts';

it.each([
  ['/home/anna/feed/src/health/routes.ts', 'test/health/health.test.ts'],
  ['src/health/routes.ts', 'test/contract.test.ts'],
  ['src/app.ts', 'test/http/conventions.test.ts'],
  ['tools/token.ts', 'test/tools/token.test.ts'],
  ['tools/erasure/ledger.ts', 'test/tools/erase-events.test.ts'],
  ['test/health/health.test.ts', undefined],
  ['docs/operate/runbook.md', undefined],
])('a saved %s runs %s, and few others', (file, own) => {
  const match = CODE.exec(file);
  const tests = match === null ? [] : watchedTests(match);
  expect(tests).toEqual(own === undefined ? [] : expect.arrayContaining([own]));
  expect(tests.length).toBeLessThan(20);
});
