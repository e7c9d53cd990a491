/** `npm test`: runs the checks at the same time, and then the tests. USAGE has the details. */

import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Writable } from 'node:stream';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { UserError } from './command-line/user-error.ts';

const USAGE = `Usage: npm test [-- FILE...]

Runs the checks, and then all tests. With names of test files or folders it runs only these, without the checks.
FULL=1 npm test runs the long forms of the load, fault and crash tests too.
The last line counts the tests; a failed check counts as one.

Changes: nothing. Scratch files are removed at the end.
Exit codes: 0 all has passed, 1 something has failed, 2 invalid arguments.
Example: npm test -- test/events`;
const CHROMIUM = '/usr/bin/chromium';
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
const MAX_OUTPUT_BYTES = 64 * 1_024 ** 2;
/** More than the files of a run take. */
const ROOM_BYTES = 1_024 ** 3;

const CHECKS = [
  { name: 'format and lint', program: 'biome', args: ['ci', '--error-on-warnings', '.'] },
  { name: 'migrations', program: 'node', args: ['tools/check-migrations.ts'] },
  { name: 'types of the bindings', program: 'npm', args: ['run', '-s', 'types', '--', '--check'] },
  // A second checker would repeat much of the first one's work.
  { name: 'types', program: 'tsc', args: ['--checkers', '1'] },
];

type Outcome = { passed: number; failed: number; skipped: number };

export const command: Command<string[]> = { usage: USAGE, parse: parseFiles, run: runAll };

if (import.meta.main) await runCommand(command);

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
  // Vitest prints colours where CI is set.
  if (!process.stdout.isTTY) process.env.NO_COLOR ??= '1';
  const parent = hasRoomInMemory() ? MEMORY : tmpdir();
  const scratch = mkdtempSync(join(parent, `npm-test-${process.pid}-`));
  process.env.TMPDIR = scratch;
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  // Tests start many programs: Node caches compiled code for the next program.
  process.env.NODE_COMPILE_CACHE = join(scratch, 'compiled');
  const isChecked = files.length > 0 || (await runChecks());
  const outcome = isChecked ? await runTests(files) : { passed: 0, failed: 1, skipped: 0 };
  const { passed, failed, skipped } = outcome;
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  // A test that hangs must not keep this program running.
  process.exit(failed === 0 ? 0 : 1);
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

async function runChecks(): Promise<boolean> {
  const results = await Promise.all(
    CHECKS.map(async ({ name, program, args }) => {
      const startedAt = Date.now();
      const { hasPassed, output } = await run(program, args);
      const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
      if (!hasPassed) console.log(output.trimEnd());
      console.log(`— ${name}: ${hasPassed ? 'ok' : 'FAILED'} (${seconds} s)`);
      return hasPassed;
    }),
  );
  return results.every((hasPassed) => hasPassed);
}

function run(
  program: string,
  args: readonly string[],
): Promise<{ hasPassed: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) =>
      resolve({ hasPassed: error === null, output: stdout + stderr || String(error) }),
    );
  });
}

async function runTests(files: readonly string[]): Promise<Outcome> {
  const { startVitest } = await import('vitest/node');
  const { streams, release } = withholdOutput();
  // A line for each file, and none for slow tests.
  const reporters: ['default', object][] = [['default', { summary: false }]];
  const options = { run: true, reporters, slowTestThreshold: 3_600_000 };
  const { state } = await startVitest([...files], options, {}, streams);
  const states = state
    .getTestModules()
    .flatMap(({ children }) => [...children.allTests()].map((test) => test.result().state));
  const count = (wanted: string) => states.filter((each) => each === wanted).length;
  // A file that cannot be loaded has no failed tests, but Vitest sets the exit code.
  const failed = count('failed') || (process.exitCode ? 1 : 0);
  const withheld = release();
  if (failed > 0 && withheld !== '') console.error(`\nThe runtime printed:\n\n${withheld}`);
  const skipped = count('skipped');
  const unmet = process.env.FULL ? [] : ['FULL=1'];
  if (!existsSync(CHROMIUM)) unmet.push(CHROMIUM);
  if (skipped > 0 && unmet.length > 0) console.log(`Skipped tests need: ${unmet.join(', ')}`);
  return { passed: count('passed'), failed, skipped };
}

/** Withholds all output until `release`, which returns it, except what is written to `streams`. */
export function withholdOutput() {
  const withheld: string[] = [];
  const withhold = (stream: NodeJS.WriteStream) => {
    const write = stream.write.bind(stream);
    stream.write = (chunk) => withheld.push(String(chunk)) > 0;
    return new Writable({
      // At once, so that the two streams keep their order.
      write: (chunk, _encoding, done) => {
        write(chunk);
        done();
      },
    });
  };
  const streams = { stdout: withhold(process.stdout), stderr: withhold(process.stderr) };
  const release = () => {
    for (const stream of [process.stdout, process.stderr]) Reflect.deleteProperty(stream, 'write');
    return withheld.join('');
  };
  return { streams, release };
}
