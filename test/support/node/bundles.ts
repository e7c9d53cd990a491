/** Builds each bundle of the working copy's Workers once per test run. */

import { basename, join } from 'node:path';
import { buildBundle } from '../../../tools/workerd/runtime.ts';
import { makeOnce } from './memoised-fixture.ts';

/** Returns the path of the bundle of a Worker, and builds it if it is the first call of the run. */
export async function getBundle(main: string): Promise<string> {
  const name = basename(main, '.ts');
  const folder = await makeOnce(`bundle-${name}`, async (directory) => {
    await buildBundle(main, directory);
  });
  return join(folder, `${name}.js`);
}
