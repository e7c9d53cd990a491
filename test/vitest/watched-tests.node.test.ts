import { expect, it } from 'vitest';
import { watchedTests } from './watched-tests.ts';

const CONTRACT = 'test/contract.test.ts';

it.each([
  ['src/auth/bearer.ts', ['test/auth/bearer.test.ts', CONTRACT]],
  [
    'src/http/response-headers.ts',
    ['test/http/response-headers-in-browser.node.test.ts', CONTRACT],
  ],
  ['src/app.ts', [CONTRACT]],
  [
    'src/development/api-page.css',
    ['test/development/api-page.test.ts', 'test/development/api-page-in-browser.node.test.ts'],
  ],
  ['tools/development/port.ts', ['test/tools/development/port.test.ts']],
])('a save of %s runs the tests of its name', (saved, tests) => {
  expect(watchedTests(saved).toSorted()).toEqual(tests.toSorted());
});

it.each([
  ['tools/backup/dump.ts', 'test/tools/backup.test.ts'],
  ['src/events/openapi/chapter.ts', 'test/events/ingest.test.ts'],
])('a save of %s, which has none of its name, runs those of its folder', (saved, test) => {
  expect(watchedTests(saved)).toContain(test);
});
