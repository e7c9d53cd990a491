import { expect, it } from 'vitest';
import { watchedTests } from './watched-tests.ts';

it.each([
  ['src/auth/bearer.ts', 'test/auth/bearer.test.ts', 'test/contract.test.ts'],
  ['src/development/api-page.tsx', 'test/development/api-page.test.ts'],
  ['src/development/api-page.css', 'test/development/api-page.test.ts'],
  ['tools/deploy.ts', 'test/tools/deploy.test.ts'],
  ['src/properties/rich-text.ts', 'test/properties/rich-text.test.ts'],
])('a save of %s runs %s', (saved, first, ...others) => {
  const [watched, ...later] = watchedTests(saved);
  expect(watched).toBe(first);
  expect(later).toEqual(expect.arrayContaining(others));
});

it('a file that only the whole service imports runs few tests', () => {
  expect(watchedTests('src/http/cors.ts')).toEqual([
    'test/http/cors-in-browser.node.test.ts',
    'test/contract.test.ts',
  ]);
});

it('a file without a test of its name is tested by the nearest that import it', () => {
  expect(watchedTests('src/http/json-text.ts')).toContain('test/http/json-text.test.ts');
  expect(watchedTests('tools/command-line/user-error.ts').length).toBeGreaterThan(0);
});
