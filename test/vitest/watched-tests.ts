/**
 * The tests that `npm run watch` runs when a file is saved, by the file's name and folder. Every
 * test that speaks HTTP imports the whole service, so importers would be almost all tests.
 */

import { globSync } from 'node:fs';
import { dirname } from 'node:path';

/** The path of a file of the code, from the root of the project. */
export const CODE = /(?:^|\/)((?:src|tools)\/.+\.(?:tsx?|js|css|html|sh|json))$/;

/**
 * Returns the test files of the file's name, else those of the name of its folder, and so on; for
 * the Worker, also the test of every route.
 *
 * @example watchedTests('src/auth/bearer.ts') // ['test/auth/bearer.test.ts', 'test/contract.test.ts']
 */
export function watchedTests(saved: string): string[] {
  // e.g. test/tools/backup/dump, then test/tools/backup
  let [path = ''] = saved.replace(/^(?:src\/)?/, 'test/').split('.');
  let tests: string[] = [];
  for (; tests.length === 0 && path !== 'test'; path = dirname(path)) {
    tests = globSync([`${path}{,-*}.test.ts`, `${path}{,-*}.node.test.ts`, `${path}/*.test.ts`]);
  }
  const isOfWorker = saved.startsWith('src/') && !saved.startsWith('src/development/');
  return isOfWorker ? [...tests, 'test/contract.test.ts'] : tests;
}
