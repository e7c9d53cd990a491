/**
 * The tests that `npm run watch` runs when a file is saved. Every test that speaks HTTP imports the
 * whole service, so the imports would select almost all of them. The folders select the tests.
 */

import { globSync, readFileSync } from 'node:fs';

/** Files of the code: the first folder or file below `src` or `tools` names the tests. */
export const CODE = /(?:^|\/)(src|tools)\/([\w-]+)(?:\.ts$|\/.*\.(?:tsx?|js|css|html|sh|json)$)/;

/** Returns the test files for a path of the project that `CODE` matches. */
export function watchedTests([, root, name = '']: RegExpMatchArray): string[] {
  const folder = root === 'src' ? 'test' : 'test/tools';
  const own = globSync([`${folder}/${name}{,-*}.test.ts`, `${folder}/${name}/**/*.test.ts`]);
  if (own.length > 0 && root === 'tools') return own;
  // A file of `src` itself is tested by test/http, and all of `src` by contract.test.ts.
  if (root === 'src')
    return [...(own.length > 0 ? own : globSync('test/http/*.test.ts')), 'test/contract.test.ts'];
  // A folder of `tools` is tested by the commands that import it.
  return globSync('tools/*.ts')
    .filter((command) => readFileSync(command, 'utf8').includes(` from './${name}/`))
    .flatMap((command) => globSync(`test/${command.replace('.ts', '.test.ts')}`));
}
