/** An import that is killed leaves no process, no lock and no file behind. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import type { ProjectCopy } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const LISTINGS = 10_000;
const IMPORT = ['tools/import-listings.ts', 'many.json'];
const PROGRAMS = {
  program: [process.execPath, ...IMPORT],
  npm: ['npm', 'run', 'import-listings', '--', 'many.json'],
};

/** The temporary directory of the imports. */
const temporary = mkdtempSync(join(tmpdir(), 'killed-'));
let project: ProjectCopy;

beforeAll(async () => {
  project = await copyWithStore('empty');
});
afterAll(async () => {
  await project.remove();
  rmSync(temporary, { recursive: true, force: true });
});

type Import = { child: ChildProcess; output: () => string };

/** Starts a program as the leader of a process group; resolves when it has printed a count. */
async function startImport([command = '', ...args]: readonly string[]): Promise<Import> {
  // Another text each time, so that there is always something to write.
  const name = crypto.randomUUID();
  const properties = Array.from({ length: LISTINGS }, (_, index) =>
    propertyOf({
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      slug: `home-${index}`,
      name,
    }),
  );
  project.write('many.json', { properties });
  const child = spawn(command, args, {
    cwd: project.directory,
    env: { ...process.env, TMPDIR: temporary },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
      if (output.includes(` of ${LISTINGS} listings`)) resolve();
    });
    child.on('exit', () => reject(new Error(`the import ended before it was killed:\n${output}`)));
  });
  return { child, output: () => output };
}

/** Returns the commands of a process group that still run. */
function survivorsOf(group: number | undefined): string[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pgid=,stat=,args='], { encoding: 'utf8' });
  return processes.split('\n').filter((line) => {
    const [pgid, state = ''] = line.trim().split(/\s+/);
    return pgid === String(group) && !state.startsWith('Z');
  });
}

/** Node's cache of compiled code stays for the next program. */
function filesLeft(): string[] {
  return readdirSync(temporary).filter((name) => name !== 'node-compile-cache');
}

/** The signal that no program can see coming, and Ctrl+C. `FULL=1` tries the others too. */
const KILLS = [
  ['SIGKILL', 'program'],
  ['SIGKILL', 'npm'],
  ['SIGINT', 'npm'],
  ...(process.env.FULL
    ? ([
        ['SIGINT', 'program'],
        ['SIGTERM', 'program'],
        ['SIGTERM', 'npm'],
      ] as const)
    : []),
] as const;

describe('an import leaves nothing running, and no file', () => {
  it.each(KILLS)('when %s is sent to %s', async (signal, to) => {
    const { child, output } = await startImport(PROGRAMS[to]);
    try {
      child.kill(signal);
      await expect.poll(() => survivorsOf(child.pid), { timeout: 10_000 }).toEqual([]);
      expect(filesLeft()).toEqual([]);
      // It was ended, and has not come to its own end.
      expect(output()).not.toContain(`${LISTINGS} listings: `);
    } finally {
      const left = survivorsOf(child.pid);
      if (left.length > 0 && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }
  });

  it('and the next import does its work', async () => {
    const next = await project.run('import-listings.ts', 'tools/samples/listings.json');
    expect(next).toMatchObject({ code: 0, stderr: '' });
    expect(next.stdout).toContain('71 listings: ');
  });
});
