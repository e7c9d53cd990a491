/**
 * `npm test`: everything that must pass. The checks run first, side by side; the tests follow when all
 * of them have passed. The last line counts tests; a check that failed counts as one.
 *
 * `npm test -- FILE...` runs the named test files and folders only, without the checks.
 * `FULL=1` turns on the long forms of the load, fault and crash tests.
 *
 * Exits with 0 when all has passed, 1 when something has not, 2 for invalid arguments.
 */

import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import * as z from 'zod';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { UserError } from './command-line/project.ts';

const USAGE = `Usage: npm test [-- FILE...]

Runs the checks, and then all tests. With names of test files or folders it runs only these, without the checks.`;
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** Far more than the files of a run take at a time. */
const ROOM_BYTES = 1_024 ** 3;

type Check = { name: string; program: string; args: readonly string[] };

const CHECKS: readonly Check[] = [
  { name: 'format and lint', program: 'biome', args: ['ci', '--error-on-warnings', '.'] },
  { name: 'migrations', program: 'node', args: ['tools/check-migrations.ts'] },
  { name: 'types of the bindings', program: 'npm', args: ['run', '-s', 'types', '--', '--check'] },
  // The checks fill the processors side by side: a second checker would do much of the first one's work again.
  { name: 'types', program: 'tsc', args: ['--checkers', '1'] },
  { name: 'types of the preview', program: 'tsc', args: ['-p', 'src/openapi/preview'] },
];

/** The fields of Vitest's JSON report that say how the tests ended. */
const report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numFailedTestSuites: z.int(),
});

type Outcome = { passed: number; failed: number; skipped: number };

/** `npm test`. */
export const command: Command<string[]> = { usage: USAGE, parse: parseFiles, run: runAll };

if (import.meta.main) await runCommand(command);

/** Returns the named test files, and the test files in the named folders. */
function parseFiles(args: string[]): string[] {
  const { positionals } = readArguments('test', args, {}, { allowPositionals: true });
  return positionals.flatMap((path) => {
    const place = relative(process.cwd(), userPath('test', path));
    const files = place.endsWith('.test.ts')
      ? globSync(place)
      : globSync(join(place, '**/*.test.ts'), { exclude: ['**/node_modules'] });
    if (files.length === 0) throw new UserError(`There is no test file ${path}`);
    return files;
  });
}

async function runAll(files: readonly string[]): Promise<number> {
  process.env.CI ??= 'true';
  const scratch = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'npm-test-'));
  process.env.TMPDIR = scratch;
  // Vitest ends by itself when the user interrupts it. This program stays, to remove the files of the tests.
  process.on('SIGINT', () => {});
  // Tests start many programs: Node caches compiled code for the next program.
  process.env.NODE_COMPILE_CACHE = join(scratch, 'compiled');
  try {
    const isChecked = files.length > 0 || (await runChecks());
    const outcome = isChecked
      ? await runTests(files, scratch)
      : { passed: 0, failed: 1, skipped: 0 };
    const { passed, failed, skipped } = outcome;
    console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
    return failed === 0 ? 0 : 1;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Reports whether scratch files fit into memory: tests make hundreds of databases, and each write waits for a disk. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES;
  } catch {
    return false;
  }
}

/** Runs all checks at once. Shows the output of a failed check when it has ended. */
async function runChecks(): Promise<boolean> {
  const results = await Promise.all(
    CHECKS.map(async ({ name, program, args }) => {
      const startedAt = Date.now();
      const { status, output } = await run(program, args, 'kept');
      const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
      const hasPassed = status === 0;
      if (!hasPassed) console.log(output.trimEnd());
      console.log(`— ${name}: ${hasPassed ? 'ok' : 'FAILED'} (${seconds} s)`);
      return hasPassed;
    }),
  );
  return results.every((hasPassed) => hasPassed);
}

/** Runs the test files, or all of them when none is named, and counts by Vitest's own report. */
async function runTests(files: readonly string[], scratch: string): Promise<Outcome> {
  const reportFile = join(scratch, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const { status } = await run('vitest', ['run', ...reporters, ...files], 'shown');
  const result = readReport(reportFile);
  if (result === undefined) {
    console.error('Vitest left no report: it ended before its tests did.');
    return { passed: 0, failed: 1, skipped: 0 };
  }
  // A file that cannot be loaded has no failed tests, but is a failed suite.
  const hasPassed = status === 0 && result.numFailedTestSuites === 0;
  const failed = result.numFailedTests || (hasPassed ? 0 : 1);
  return { passed: result.numPassedTests, failed, skipped: result.numPendingTests };
}

function readReport(file: string): z.infer<typeof report> | undefined {
  try {
    return report.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** Runs a program to its end, and keeps or shows its output: a closed pipe must not end the program. */
function run(
  program: string,
  args: readonly string[],
  output: 'kept' | 'shown',
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve) => {
    const stdio = output === 'shown' && process.stdout.isTTY ? 'inherit' : 'pipe';
    const child = spawn(program, args, { stdio: ['ignore', stdio, stdio] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data: Buffer) => {
        if (output === 'shown') process.stdout.write(data);
        else printed += data.toString();
      });
    }
    child.on('error', (error) => resolve({ status: null, output: error.message }));
    child.on('close', (status) => resolve({ status, output: printed }));
  });
}
