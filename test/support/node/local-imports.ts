/** `import-listings` in this process, into the local database of a scratch copy, which is opened once. */

import { join } from 'node:path';
import { openState } from '../../../tools/database/open.ts';
import { importListings } from '../../../tools/import/command.ts';
import { runImportOn } from './in-process.ts';
import type { Finished, ProjectCopy } from './project-copy.ts';

export type LocalImports = {
  /** Runs the command to its end. Commands must not run side by side, because they share the console. */
  run: (...args: string[]) => Promise<Finished>;
  database: D1Database;
  close: () => Promise<void>;
};

/** Opens the local database of a copy, which has every table. */
export async function openLocalImports(project: ProjectCopy): Promise<LocalImports> {
  const { database, close } = await openState(join(project.directory, '.wrangler/state/v3'));
  return { run: (...args) => runImportOn(database, importListings, ...args), database, close };
}
