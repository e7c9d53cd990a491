/**
 * `npm test`: everything that must pass. The checks run first, side by side; the tests follow when all
 * of them have passed. The last line counts tests; a check that failed counts as one.
 *
 * `npm test -- FILE...` runs the named test files only, without the checks.
 * `FULL=1` turns on the long forms of the load, fault and crash tests.
 *
 * Exits with 0 when all has passed, 1 when something has not, 2 when an argument was not understood.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { userPath } from './command-line/npm.ts';
import { requireKnownEnvironment } from './command-line/wrangler-config.ts';

const USAGE = 'usage: npm test [-- FILE...]';
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** Far more than the files of a run take at a time. */
const ROOM_BYTES = 1_024 ** 3;

type Check = { name: string; program: string; args: readonly string[] };

const CHECKS: readonly Check[] = [
  { name: 'format and lint', program: 'biome', args: ['ci', '--error-on-warnings', '.'] },
  { name: 'migrations', program: 'node', args: ['tools/check-migrations.ts'] },
  { name: 'types of the bindings', program: 'npm', args: ['run', '-s', 'types', '--', '--check'] },
  { name: 'types', program: 'tsc', args: [] },
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

requireKnownEnvironment();

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const files = args.map((path) => userPath('test', path));
  const unknown = args.filter((_, index) => !isTestFile(files[index] ?? ''));
  if (unknown.length > 0) {
    for (const path of unknown) console.error(`There is no test file ${path}`);
    console.error(USAGE);
    return 2;
  }
  process.env.CI ??= 'true';
  const scratch = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'npm-test-'));
  process.env.TMPDIR = scratch;
  // Vitest ends by itself when the user interrupts it: this program stays to remove what the tests have left.
  process.on('SIGINT', () => {});
  // Tests start a program two hundred times: Node keeps what it has compiled for the next one.
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

/** Tests make hundreds of databases. On a disk, each write to one waits for it. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES;
  } catch {
    return false;
  }
}

function isTestFile(path: string): boolean {
  return path.endsWith('.test.ts') && existsSync(path);
}

/** Runs all checks at once. Each one's output is shown whole, when it has ended. */
async function runChecks(): Promise<boolean> {
  const results = await Promise.all(
    CHECKS.map(async ({ name, program, args }) => {
      const startedAt = Date.now();
      const { status, output } = await run(program, args, 'pipe');
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
  const { status } = await run('vitest', ['run', ...reporters, ...files], 'inherit');
  const result = readReport(reportFile);
  if (result === undefined) {
    console.error('Vitest left no report: it ended before its tests did.');
    return { passed: 0, failed: 1, skipped: 0 };
  }
  // A file that cannot be loaded has no tests that could fail.
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

/** Runs a program to its end. `output` is what it printed when its output goes through a pipe. */
function run(
  program: string,
  args: readonly string[],
  output: 'pipe' | 'inherit',
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', output, output] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data: Buffer) => {
        printed += data.toString();
      });
    }
    child.on('error', (error) => resolve({ status: null, output: error.message }));
    child.on('close', (status) => resolve({ status, output: printed }));
  });
}
