import { basename, join } from 'node:path';
import { buildBundle } from '../../../tools/workerd/runtime.ts';
import { makeOnce } from './memoised-fixture.ts';

/** Returns the path of a Worker's bundle. Builds the bundle on the first call of the test run. */
export async function getBundle(main: string): Promise<string> {
  const name = basename(main, '.ts');
  const folder = await makeOnce(`bundle-${name}`, async (directory) => {
    await buildBundle(main, directory);
  });
  return join(folder, `${name}.js`);
}
