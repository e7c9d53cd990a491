/** `import-listings` in this process, into the local database of a scratch copy, which is opened once. */

import { join } from 'node:path';
import { type OpenDatabase, openState } from '../../../tools/database/open.ts';
import { runImportCommand } from '../../../tools/import/command.ts';
import { loadInto } from '../../../tools/import/load-listings.ts';
import { TEST_VARS } from '../vars.ts';
import type { Finished, ProjectCopy } from './project-copy.ts';

export type LocalImports = {
  /** Runs the command to its end. Commands that run side by side do not wait for a turn. */
  run: (...args: string[]) => Promise<Finished>;
  close: () => Promise<void>;
};

/** Opens the local database of a copy, which has every table. */
export async function openLocalImports(project: ProjectCopy): Promise<LocalImports> {
  const { database, close } = await openState(join(project.directory, '.wrangler/state/v3'));
  const open: OpenDatabase = { database, close: async () => {} };
  return {
    async run(...args) {
      const printed = { output: '', errors: '' };
      const writeTo = (name: keyof typeof printed) => ({
        write: (text: string) => {
          printed[name] += text;
          return true;
        },
      });
      const code = await runImportCommand(args, {
        output: writeTo('output'),
        errors: writeTo('errors'),
        load: async (read, options) =>
          read.kind === 'unreadable'
            ? { kind: 'refused', problems: read.problems }
            : loadInto(open, read, TEST_VARS.PUBLIC_SITE_URL, options),
      });
      return { code, stdout: printed.output, stderr: printed.errors };
    },
    close,
  };
}
