/** Backs up a database as one file of SQL, and verifies the file by loading it. */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { showProgress } from '../command-line/progress.ts';
import { datedPath } from '../command-line/project.ts';
import { withScratchFolder } from '../command-line/scratch.ts';
import type { Target } from '../command-line/target.ts';
import { UserError } from '../command-line/user-error.ts';
import { loadDeployment } from '../configuration/deployment.ts';
import { rejectUnfinished } from '../database/identity.ts';
import { withDatabase } from '../database/open.ts';
import { dump, loadDump } from './dump.ts';

/** Writes a backup to `out`, or to a dated file in backups/. Returns the line to print. */
export async function backUp(
  target: Target,
  out: string | undefined,
  open = withDatabase,
): Promise<string> {
  const { kind, environment } = target;
  const name = kind === 'local' ? 'local' : loadDeployment(environment).databaseName;
  const path = out ?? datedPath(name, 'sql');
  if (existsSync(path))
    throw new UserError(`${path} already exists. Choose another file with --out`);
  mkdirSync(dirname(path), { recursive: true });
  return withScratchFolder(dirname(path), async (folder) => {
    const file = join(folder, 'backup.sql');
    await open(target, async (database) => {
      if ((await rejectUnfinished(database)) === 'empty') {
        throw new UserError('the database has no tables');
      }
      using progress = showProgress(process.stdout);
      await dump(database, name, file, (done, total) => progress.update('rows', done, total));
    });
    using loaded = await loadDump(file, folder);
    renameSync(file, path);
    return `${relative('.', path)}: ${loaded.rows} rows, read back and compared`;
  });
}
