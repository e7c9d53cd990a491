/**
 * Local databases made once in a run of the tests, and copied by every test that begins with one.
 */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { madeOnce } from './made-once.ts';
import { ProjectCopy } from './project-copy.ts';

/** `empty`: migrated. `samples`: with the sample listings too. */
export type StoreKind = 'empty' | 'samples';

const FILES = { empty: 'none.json', samples: 'tools/samples/listings.json' };
/** The state of D1 in wrangler's directory. */
const D1 = 'v3/d1';

/** Returns a scratch copy of the project whose local database is of the kind. */
export async function copyWithStore(kind: StoreKind): Promise<ProjectCopy> {
  const project = new ProjectCopy();
  await copyStore(kind, join(project.directory, '.wrangler/state'));
  return project;
}

/** Copies a database into the directory in which wrangler keeps its state. */
export async function copyStore(kind: StoreKind, state: string): Promise<void> {
  const stores = await madeOnce('stores', makeStores);
  cpSync(join(stores, kind), join(state, D1), { recursive: true });
}

/** Makes both, as an import makes them that finds no database. */
async function makeStores(directory: string): Promise<void> {
  const project = new ProjectCopy();
  try {
    project.write(FILES.empty, {});
    for (const kind of ['empty', 'samples'] as const) {
      const { code, stderr } = await project.run('import-listings.ts', FILES[kind]);
      if (code !== 0) throw new Error(`the store ${kind} could not be made: ${stderr}`);
      const state = join(project.directory, '.wrangler/state', D1);
      cpSync(state, join(directory, kind), { recursive: true });
    }
  } finally {
    await project.remove();
  }
}
