/**
 * The tests that `npm run watch` runs when a file is saved. Every test that speaks HTTP imports the
 * whole service, so the imports would select almost all of them. The layout of the folders selects
 * the tests.
 */

import { globSync, readFileSync } from 'node:fs';

/** Files of the code: the first folder or file below `src` or `tools` names the tests. */
export const CODE = /(?:^|\/)(src|tools)\/([\w-]+)(?:\.ts$|\/.*\.(?:tsx?|js|css|html|sh|json)$)/;

/**
 * Returns the test files for a path of the project that `CODE` matches: the tests of the folder
 * that mirrors the file's folder, and for `src` also contract.test.ts. A file of `src` itself is
 * tested by test/http.
 */
export function watchedTests(match: RegExpMatchArray): string[] {
  const [, root, name = ''] = match;
  const own = root === 'tools' ? [`tools/${name}`] : [name];
  const found = own.flatMap((place) => [
    ...globSync(`test/${place}.test.ts`),
    ...globSync(`test/${place}-*.test.ts`),
    ...globSync(`test/${place}/**/*.test.ts`),
  ]);
  if (root === 'tools') return found.length > 0 ? found : testsOfCommands(name);
  const ofFolder = found.length > 0 ? found : globSync('test/http/**/*.test.ts');
  return [...ofFolder, 'test/contract.test.ts'];
}

/** Returns the tests of the commands that import a folder of `tools`. */
function testsOfCommands(folder: string): string[] {
  return globSync('tools/*.ts')
    .filter((command) => readFileSync(command, 'utf8').includes(` from './${folder}/`))
    .flatMap((command) => globSync(`test/${command.replace('.ts', '.test.ts')}`));
}
