/** `import-listings` as a program: its migrations and its files. When it is killed, nothing is left. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { command as importCommand } from '../../../tools/commands/import-listings.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { runImportOn } from '../../support/node/in-process.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import type { Finished, ProjectCopy } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

let project: ProjectCopy;
/** The temporary directory of the programs. */
let temporary: string;

beforeAll(async () => {
  project = await copyWithStore('empty');
  temporary = join(project.directory, 'temporary');
  mkdirSync(temporary);
});
afterAll(() => project.remove());

function load(content: unknown, ...options: string[]): Promise<Finished> {
  return project.run('import-listings.ts', project.write('listings.json', content), ...options);
}

it('a dry run and an export migrate nothing', async () => {
  const next = project.write('migrations/9999_next.sql', 'CREATE TABLE next (id text)');
  const dry = await load({ properties: [makeProperty({ slug: 'one' })] }, '--dry-run');
  const exported = await project.run('export-listings.ts');
  rmSync(next);
  const stderr = expect.stringContaining('the local database lacks migrations: run `npm run dev`');
  for (const each of [dry, exported]) expect(each).toMatchObject({ code: 1, stderr });
});

it('a dry run takes a database without tables for an empty store, and makes none', async () => {
  const store = new Database('without-tables');
  const samples = 'tools/samples/listings.json';
  const dry = await runImportOn(store.binding, importCommand, '--dry-run', samples);
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout).toContain('71 listings: 71 added, 0 changed, 0 unchanged');
  expect(store.rows('SELECT name FROM sqlite_schema')).toEqual([]);
});

it('names the fault of PUBLIC_SITE_URL, and of an unreadable file, in one line', async () => {
  const vars = project.write('.dev.vars', 'PUBLIC_SITE_URL=https://www.example.com/?a=1\n');
  const { stderr } = await load({ properties: [makeProperty({ slug: 'one' })] });
  rmSync(vars);
  expect(stderr).toBe('PUBLIC_SITE_URL must have no query and no fragment\nNothing was changed.\n');
  const missing = await project.run('import-listings.ts', 'missing.json');
  expect(missing).toMatchObject({ code: 1, stdout: '' });
  expect(missing.stderr).toMatch(
    /missing.json: no such file or directory\nNothing was changed\.\n$/,
  );
});

const LISTINGS = 3_000;
const OWN = '--import=./tools/own-node.js';

/** Starts a program as the leader of a process group; resolves when it is in the phase. */
async function startImport(command: string, args: readonly string[], phase: string) {
  const slugs = Array.from({ length: LISTINGS }, (_, index) => `home-${index}`);
  project.write('many.json', { properties: slugs.map((slug) => makeProperty({ slug })) });
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
      if (output.includes(` of ${LISTINGS} listings ${phase}`)) resolve();
    });
    child.on('exit', () => reject(new Error(`the import ended before it was killed:\n${output}`)));
  });
  return { child, output: () => output };
}

/** Returns the commands of a process group that still run. */
function survivorsOf({ pid }: ChildProcess): string[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pgid=,stat=,args='], { encoding: 'utf8' });
  return processes.split('\n').filter((line) => {
    const [group, state = ''] = line.trim().split(/\s+/);
    return group === String(pid) && !state.startsWith('Z');
  });
}

describe('an import leaves nothing running, and no file', () => {
  it.each([
    ['SIGKILL', 'node', [OWN, 'tools/commands/import-listings.ts', 'many.json'], 'staged'],
    ['SIGINT', 'npm', ['run', 'import-listings', '--', 'many.json'], 'staged'],
  ] as const)(
    'when %s is sent to %s %j while rows are %s',
    async (signal, program, args, phase) => {
      const { child, output } = await startImport(program, args, phase);
      try {
        child.kill(signal);
        await expect.poll(() => survivorsOf(child), { timeout: 10_000 }).toEqual([]);
        // Node's cache of compiled code stays for the next program.
        expect(readdirSync(temporary).filter((name) => name !== 'node-compile-cache')).toEqual([]);
        // It was ended, and has not come to its own end.
        expect(output()).not.toContain(`${LISTINGS} listings: `);
      } finally {
        if (survivorsOf(child).length > 0 && child.pid) process.kill(-child.pid, 'SIGKILL');
      }
    },
  );

  it.each([
    ['before', '1 listing: 1 added, 0 changed'],
    ['after', '1 listing: 0 added, 0 changed, 1 unchanged'],
  ])(
    'when it is killed just %s its commit: nothing of it is stored, or all',
    async (moment, again) => {
      const kill = `if (sql === 'COMMIT') process.kill(process.pid, 'SIGKILL')`;
      const [before, after] = moment === 'before' ? [kill, ''] : ['', kill];
      const code = `import { DatabaseSync } from 'node:sqlite';
      const { exec } = DatabaseSync.prototype;
      DatabaseSync.prototype.exec = function (sql) { ${before}; exec.call(this, sql); ${after} };`;
      const preload = `--import=data:text/javascript,${encodeURIComponent(code)}`;
      const file = { properties: [makeProperty({ slug: `killed-${moment}` })] };
      vi.stubEnv('NODE_OPTIONS', `${process.env.NODE_OPTIONS ?? ''} ${preload}`);
      expect(await load(file)).toMatchObject({ code: null, stdout: '' });
      vi.unstubAllEnvs();
      expect((await load(file)).stdout).toContain(again);
    },
  );
});
