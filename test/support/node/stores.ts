/** Local databases made once in a run of the tests, and copied by every test that begins with one. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { makeOnce } from './memoised-fixture.ts';
import { ProjectCopy } from './project-copy.ts';

const FILES = { empty: 'none.json', samples: 'tools/samples/listings.json' };
const STATE = '.wrangler/state/v3/d1';

/**
 * Returns a scratch copy of the project with a local database. `empty`: migrated; `samples`: with
 * the sample listings too.
 */
export async function copyWithStore(kind: 'empty' | 'samples'): Promise<ProjectCopy> {
  const stores = await makeOnce('stores', makeStores);
  const project = new ProjectCopy();
  cpSync(join(stores, kind), join(project.directory, STATE), { recursive: true });
  return project;
}

/** Makes both, as an import makes them that finds no database. */
async function makeStores(directory: string): Promise<void> {
  const project = new ProjectCopy();
  project.write(FILES.empty, { export_id: 'an empty store' });
  for (const kind of ['empty', 'samples'] as const) {
    const { code, stderr } = await project.run('import-listings.ts', FILES[kind]);
    if (code !== 0) throw new Error(`the store ${kind} could not be made: ${stderr}`);
    cpSync(join(project.directory, STATE), join(directory, kind), { recursive: true });
  }
  await project.remove();
}
