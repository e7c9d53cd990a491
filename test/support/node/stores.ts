/** Local databases that are made once per test run, and copied for each test that needs one. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { makeOnce } from './memoised-fixture.ts';
import { ProjectCopy } from './project-copy.ts';

const FILES = { empty: 'none.json', samples: 'tools/samples/listings.json' };
const STATE = '.wrangler/state/v3/d1';

/**
 * Returns a scratch copy of the project with a migrated local database: `empty`, or with the sample
 * listings.
 */
export async function copyWithStore(kind: 'empty' | 'samples'): Promise<ProjectCopy> {
  const stores = await makeOnce('stores', makeStores);
  const project = new ProjectCopy();
  cpSync(join(stores, kind), join(project.directory, STATE), { recursive: true });
  return project;
}

/** Makes both databases with `import-listings`, which creates a missing database. */
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
