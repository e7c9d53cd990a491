import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { withScratchFolder } from '../../../tools/command-line/scratch.ts';
import { describeError } from '../../../tools/command-line/user-error.ts';

const parent = mkdtempSync(join(tmpdir(), 'scratch-'));

/** A program that uses a scratch folder until a signal ends it. */
const PROGRAM = `
  const { withScratchFolder } = await import(${JSON.stringify(resolve('tools/command-line/scratch.ts'))});
  await withScratchFolder(process.argv[1], () => {
    console.log('at work');
    return new Promise((resolve) => setTimeout(resolve, 600_000));
  });`;

it('describes a failed removal, which Node reports with a positive error number', () => {
  const error = Object.assign(new Error('EACCES'), { errno: 13, syscall: 'rm', path: '/theirs' });
  expect(describeError(error)).toBe('cannot rm /theirs: permission denied');
});

it("keeps another machine's folder regardless of its process id", async () => {
  const foreign = join(parent, '.scratch-0badcafe-1-x3Fq9z');
  mkdirSync(foreign);
  await withScratchFolder(parent, async () => expect(readdirSync(parent)).toHaveLength(2));
  expect(readdirSync(parent)).toEqual([basename(foreign)]);
  rmSync(foreign, { recursive: true });
});

it.each([
  ['SIGINT', 0],
  ['SIGTERM', 0],
  ['SIGHUP', 0],
  ['SIGKILL', 1],
] as const)(
  'ends on %s with %i folders left for the next program to remove',
  async (signal, left) => {
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, parent], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => program.once('exit', (_, by) => resolve(by)));
    await new Promise((resolve) => program.stdout.once('data', resolve));
    // The folder of a running program is not removed.
    await withScratchFolder(parent, async () => expect(readdirSync(parent)).toHaveLength(2));
    program.kill(signal);
    expect(await ended).toBe(signal);
    expect(readdirSync(parent)).toHaveLength(left);
    await withScratchFolder(parent, async () => expect(readdirSync(parent)).toHaveLength(1));
    expect(readdirSync(parent)).toEqual([]);
  },
);
