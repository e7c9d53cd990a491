/** `npm run backup`: see its usage below. */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { dump, loadDump } from '../backup/dump.ts';
import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { showProgress } from '../command-line/progress.ts';
import { datedPath, pathFor } from '../command-line/project.ts';
import { inScratchFolder } from '../command-line/scratch.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import { messageOf, UserError } from '../command-line/user-error.ts';
import { loadDeployment } from '../configuration/wrangler-config.ts';
import { rejectUnfinished } from '../database/identity.ts';
import { withDatabase } from '../database/open.ts';

const program = declareWithTarget('backup')
  .description(`Writes the database into one file of SQL, loads the file into a scratch database, and compares.
The service may be running. The file has personal data.

Changes: nothing but the file. A file that exists is never replaced.
Exit codes: 0 the file is good, 1 there is no file, 2 invalid arguments.
Example: npm run backup -- --remote`)
  .option('--out <file>', 'instead of a dated file in backups/', pathFor('backup'));

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  return { target: resolveTarget(values), out: values.out };
}

async function run({ target, out }: Request, open = withDatabase): Promise<number> {
  try {
    const { kind, environment } = target;
    const name = kind === 'local' ? 'local' : loadDeployment(environment).databaseName;
    const path = out ?? datedPath(name, 'sql');
    if (existsSync(path)) throw new UserError(`${path} exists already`);
    mkdirSync(dirname(path), { recursive: true });
    await inScratchFolder(dirname(path), async (folder) => {
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
      console.log(`${relative('.', path)}: ${loaded.rows} rows, read back and compared`);
    });
    return 0;
  } catch (error) {
    console.error(`There is no backup: ${messageOf(error)}.`);
    return 1;
  }
}

if (import.meta.main) await runCommand(command);
