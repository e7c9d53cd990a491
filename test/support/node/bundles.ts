/** The bundles of the working copy's Workers, each built once in a run of the tests. */

import { basename, join } from 'node:path';
import { buildBundle } from '../../../tools/workerd/runtime.ts';
import { makeOnce } from './memoised-fixture.ts';

/** Returns the path of the script. */
export async function getBundle(main: string): Promise<string> {
  const name = basename(main, '.ts');
  const folder = await makeOnce(`bundle-${name}`, async (made) => {
    await buildBundle(main, made);
  });
  return join(folder, `${name}.js`);
}
