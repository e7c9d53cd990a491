/** `npm test`: runs Vitest. USAGE has the details. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { UserError } from './command-line/user-error.ts';

const USAGE = `Usage: npm test [-- FILE...]

Runs all tests; the checks of format, lint, types and migrations are among them (test/checks.node.test.ts).
With names of test files or folders it runs only these.
FULL=1 npm test runs the long forms of the load, fault and crash tests too. Tests of pages need /usr/bin/chromium.

Changes: nothing. Scratch files are removed at the end.
Exit codes: 0 all has passed, 1 something has failed, 2 invalid arguments.
Example: npm test -- test/events`;
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** More than the files of a run take. */
const ROOM_BYTES = 1_024 ** 3;

export const command: Command<string[]> = { usage: USAGE, parse: parseFiles, run: runAll };

if (import.meta.main) await runCommand(command);

function parseFiles(args: string[]): string[] {
  const { positionals } = readArguments('test', args, {}, { allowPositionals: true });
  return positionals.map((path) => {
    const absolute = userPath('test', path);
    if (!existsSync(absolute)) throw new UserError(`There is no test file ${path}`);
    return relative(process.cwd(), absolute);
  });
}

/** Runs Vitest. Its errors, and those of the runtime, are shown only if a test fails. */
async function runAll(files: readonly string[]): Promise<number> {
  const scratch = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'npm-test-'));
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  const vitest = spawn('vitest', ['run', '--slowTestThreshold=3600000', ...files], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: {
      ...process.env,
      ...(!process.stdout.isTTY && { NO_COLOR: '1' }),
      CI: 'true',
      TMPDIR: scratch,
      // Tests start many programs: Node caches compiled code for the next program.
      NODE_COMPILE_CACHE: join(scratch, 'compiled'),
    },
  });
  process.on('exit', () => vitest.kill());
  let errors = '';
  vitest.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = await once(vitest, 'close');
  if (code !== 0) console.error(errors);
  return code === 0 ? 0 : 1;
}

/** Tests make hundreds of databases, whose writes would wait for a disk. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES;
  } catch {
    return false;
  }
}
