/** `npm test`: see its usage below. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Command, declare, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/project.ts';
import { UserError } from './command-line/user-error.ts';

const program = declare('test')
  .description(`Runs all tests; the checks of format, lint, types and migrations are among them (test/checks.node.test.ts).
With names of test files or folders it runs only these.
FULL=1 npm test runs the long forms of the load, fault and crash tests too. The last line counts the tests.

Changes: nothing. Scratch files are removed at the end.
Exit codes: 0 all has passed, 1 something has failed, 2 invalid arguments.
Example: npm test -- test/events`)
  .argument('[file...]')
  .option('--slowest', 'names the ten slowest test files at the end');
const CHROMIUM = '/usr/bin/chromium';
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** More than the files of a run take. */
const ROOM_BYTES = 1_024 ** 3;

type Request = { files: string[]; namesSlowest: boolean };

export const command: Command<Request> = { program, parse, run: runAll };

function parse(args: string[]): Request {
  const { values, positionals } = readArguments(program, args);
  const tests = globSync('test/**/*.test.ts');
  const files = positionals[0].flatMap((path) => {
    const place = userPath('test', path);
    const inPlace = tests.filter((test) => !relative(place, test).startsWith('..'));
    if (inPlace.length === 0) throw new UserError(`There is no test file ${path}`);
    return inPlace;
  });
  return { files, namesSlowest: values.slowest ?? false };
}

async function runAll({ files, namesSlowest }: Request): Promise<number> {
  const scratch = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'npm-test-'));
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  // Tests start many programs: Node caches compiled code for the next program.
  Object.assign(process.env, { TMPDIR: scratch, NODE_COMPILE_CACHE: join(scratch, 'compiled') });
  const { passed, failed, skipped, slowest } = await runTests(files, join(scratch, 'report.json'));
  if (namesSlowest) console.log(`\n${slowest.join('\n')}\n`);
  const unmet = process.env.FULL ? [] : ['FULL=1'];
  if (!existsSync(CHROMIUM)) unmet.push(CHROMIUM);
  if (skipped > 0 && unmet.length > 0) console.log(`Skipped tests need: ${unmet.join(', ')}`);
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed === 0 ? 0 : 1;
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

/** Errors of Vitest and of the runtime are shown only if a test fails. */
async function runTests(files: readonly string[], reportFile: string) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const colors = process.stdout.isTTY ? {} : { NO_COLOR: '1' };
  const vitest = spawn('vitest', ['run', ...reporters, '--slowTestThreshold=3600000', ...files], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, ...colors, CI: 'true' },
  });
  process.on('exit', () => vitest.kill());
  const [[code], errors] = await Promise.all([once(vitest, 'close'), text(vitest.stderr)]);
  if (code !== 0) console.error(errors);
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : {};
  return {
    slowest: formatSlowest(report.testResults ?? []),
    passed: report.numPassedTests ?? 0,
    // A file that cannot be loaded has no failed tests.
    failed: report.numFailedTests || (code === 0 ? 0 : 1),
    skipped: report.numPendingTests ?? 0,
  };
}

/** Returns e.g. ` 12500 ms test/tools/dev.test.ts`. Vitest measures the tests of a file, in milliseconds. */
function formatSlowest(files: { name: string; startTime: number; endTime: number }[]): string[] {
  return files
    .map(({ name, startTime, endTime }) => ({ name, ms: Math.round(endTime - startTime) }))
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, 10)
    .map(({ name, ms }) => `${String(ms).padStart(6)} ms ${relative(process.cwd(), name)}`);
}

if (import.meta.main) await runCommand(command);
