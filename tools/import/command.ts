/** `import-listings` with its arguments: reads the file, has it loaded, and says what became of it. */

import { readFileSync } from 'node:fs';
import { userPath } from '../command-line/npm.ts';
import type { Output } from '../command-line/progress.ts';
import { UserError } from '../command-line/project.ts';
import { parseCommand, USAGE } from './arguments.ts';
import { consequenceOf } from './consequence.ts';
import { type ReadFile, readListingsFile } from './file.ts';
import type { ImportOutcome } from './import.ts';
import type { LoadOptions } from './load-listings.ts';
import { problemLines, summaryLines, tellHook } from './report.ts';

export type ImportContext = {
  output: Output;
  errors: Output;
  /** Imports into the database that the options name. */
  load: (read: ReadFile, options: LoadOptions) => Promise<ImportOutcome>;
};

/** Runs the command. Returns its exit code. */
export async function runImportCommand(
  args: string[],
  { output, errors, load }: ImportContext,
): Promise<number> {
  const print = (line: string) => output.write(`${line}\n`);
  const complain = (line: string) => errors.write(`${line}\n`);
  const command = parseCommand(args);
  if (command.kind === 'help') {
    print(USAGE);
    return 0;
  }
  if (command.kind === 'misunderstood' || command.kind === 'unusable') {
    complain(command.message);
    if (command.kind === 'misunderstood') complain(`\n${USAGE}`);
    return 2;
  }
  try {
    const read = readListingsFile(readBytes(command.path));
    const outcome = await load(read, { ...command, output });
    if (outcome.kind === 'refused') {
      for (const line of problemLines(outcome.problems)) complain(line);
      return 1;
    }
    for (const line of summaryLines(outcome, command)) print(line);
    if (command.hook !== undefined) {
      const { isWarning, line } = await tellHook(command.hook, outcome, command.isDryRun);
      if (isWarning) complain(line);
      else print(line);
    }
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    complain(error instanceof UserError ? message : `The import failed: ${message}`);
    complain(consequenceOf(error));
    return 1;
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(userPath('import-listings', path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') throw new UserError(`There is no file ${path}`);
    if (code === 'EISDIR') throw new UserError(`${path} is a directory`);
    throw new UserError(`${path} cannot be read: ${error instanceof Error ? error.message : code}`);
  }
}
