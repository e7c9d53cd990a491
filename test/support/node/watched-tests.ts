/**
 * The tests that `npm run watch` runs when a file is saved. Every test that speaks HTTP imports the whole service, so
 * the graph of imports would name almost all of them: the layout of the folders names those that are meant.
 */

import { globSync } from 'node:fs';

/** Files of the code: the first folder or file below `src` or `tools` names the tests. */
export const CODE = /(?:^|\/)(src|tools)\/([\w-]+)(?:\.ts$|\/.*\.(?:ts|js|css|html|sh|json)$)/;

/**
 * Returns the test files for a path of the project that `CODE` matches: those of the folder that mirrors the file's,
 * and for `src` also what holds for every route. A file that stands in `src` itself is tested by test/http.
 */
export function watchedTests(match: RegExpMatchArray): string[] {
  const [, root, name = ''] = match;
  const own = root === 'tools' ? [`tools/${name}`] : [name];
  const found = own.flatMap((place) => [
    ...globSync(`test/${place}.test.ts`),
    ...globSync(`test/${place}-*.test.ts`),
    ...globSync(`test/${place}/**/*.test.ts`),
  ]);
  if (root === 'tools') return found;
  const ofFolder = found.length > 0 ? found : globSync('test/http/**/*.test.ts');
  return [...ofFolder, 'test/contract.test.ts'];
}
