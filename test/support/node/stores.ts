/** Makes local databases once per test run, and copies them for each test that needs one. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { makeOnce } from './memoised-fixture.ts';
import { ProjectCopy } from './project-copy.ts';

const FILES = { empty: 'none.json', samples: 'tools/samples/listings.json' };
const STATE = '.wrangler/state/v3/d1';

/**
 * Returns a temporary copy of the project. Its local database is migrated, and is empty or contains
 * the sample listings.
 */
export async function copyWithStore(kind: 'empty' | 'samples'): Promise<ProjectCopy> {
  const stores = await makeOnce('stores', makeStores);
  const project = new ProjectCopy();
  cpSync(join(stores, kind), join(project.directory, STATE), { recursive: true });
  return project;
}

/** Makes both databases with `import-listings`, which creates the database if it is missing. */
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
