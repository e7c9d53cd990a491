/**
 * Tests of `import-listings` as a separate program, which may find an outdated database or be
 * killed.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { command as exportCommand } from '../../../tools/commands/export-listings.ts';
import { command as importCommand } from '../../../tools/commands/import-listings.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { runImportOn, runOn } from '../../support/node/in-process.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import type { Finished, ProjectCopy } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

let project: ProjectCopy;
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

const SAMPLES = 'tools/samples/listings.json';

describe('outdated database', () => {
  it('is rejected by a dry run or an export', async () => {
    const store = new Database('without-the-last-migration').migrate();
    store.sqlite.exec('DELETE FROM d1_migrations WHERE id = (SELECT max(id) FROM d1_migrations)');
    const dryRun = await runImportOn(store.binding, importCommand, '--dry-run', SAMPLES);
    const exported = await runOn(store.binding, exportCommand);
    const stderr = expect.stringContaining(
      'the local database does not have all migrations. Run `npm run dev`',
    );
    for (const result of [dryRun, exported]) expect(result).toMatchObject({ code: 1, stderr });
  });

  it('counts as empty in a dry run if it has no tables', async () => {
    const store = new Database('without-tables');
    const dryRun = await runImportOn(store.binding, importCommand, '--dry-run', SAMPLES);
    expect(dryRun).toMatchObject({ code: 0, stderr: '' });
    expect(dryRun.stdout).toContain('71 listings: 71 added, 0 changed, 0 unchanged');
    expect(store.rows('SELECT name FROM sqlite_schema')).toEqual([]);
  });
});

it('prints one line if PUBLIC_SITE_URL is malformed', async () => {
  const vars = project.write('.dev.vars', 'PUBLIC_SITE_URL=https://www.example.com/?a=1\n');
  const { stderr } = await load({ properties: [makeProperty({ slug: 'one' })] });
  rmSync(vars);
  expect(stderr).toBe('PUBLIC_SITE_URL must have no query and no fragment\nNothing was changed.\n');
});

it('prints one line if the file does not exist', async () => {
  const { binding } = new Database('in-memory').migrate();
  const { code, stdout, stderr } = await runImportOn(binding, importCommand, 'missing.json');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^.*missing.json: no such file or directory\nNothing was changed\.\n$/);
});

const LISTINGS = 3_000;
const OWN = '--import=./tools/own-node.js';

/** Starts a program as the leader of a process group, and waits until it reaches the phase. */
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

/** Lists the processes of a process group that are still running. */
function listSurvivors({ pid }: ChildProcess): string[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pgid=,stat=,args='], { encoding: 'utf8' });
  return processes.split('\n').filter((line) => {
    const [group, state = ''] = line.trim().split(/\s+/);
    return group === String(pid) && !state.startsWith('Z');
  });
}

describe('killed import', () => {
  it.each([
    ['SIGKILL', 'node', [OWN, 'tools/commands/import-listings.ts', 'many.json'], 'staged'],
    ['SIGINT', 'npm', ['run', 'import-listings', '--', 'many.json'], 'staged'],
  ] as const)(
    'leaves no processes or files after %s to %s %j while rows are %s',
    async (signal, program, args, phase) => {
      const { child, output } = await startImport(program, args, phase);
      try {
        child.kill(signal);
        await expect.poll(() => listSurvivors(child), { timeout: 10_000 }).toEqual([]);
        // Node keeps its cache of compiled code for the next program.
        expect(readdirSync(temporary).filter((name) => name !== 'node-compile-cache')).toEqual([]);
        // The signal ended the import before it printed its report.
        expect(output()).not.toContain(`${LISTINGS} listings: `);
      } finally {
        if (listSurvivors(child).length > 0 && child.pid) process.kill(-child.pid, 'SIGKILL');
      }
    },
  );

  it.each([
    ['before', '1 listing: 1 added, 0 changed'],
    ['after', '1 listing: 0 added, 0 changed, 1 unchanged'],
  ])(
    'stores everything or nothing if it is killed just %s its commit',
    async (position, secondReport) => {
      const kill = `if (sql === 'COMMIT') process.kill(process.pid, 'SIGKILL')`;
      const [before, after] = position === 'before' ? [kill, ''] : ['', kill];
      const code = `import { DatabaseSync } from 'node:sqlite';
      const { exec } = DatabaseSync.prototype;
      DatabaseSync.prototype.exec = function (sql) { ${before}; exec.call(this, sql); ${after} };`;
      const preload = `--import=data:text/javascript,${encodeURIComponent(code)}`;
      const file = { properties: [makeProperty({ slug: `killed-${position}` })] };
      vi.stubEnv('NODE_OPTIONS', `${process.env.NODE_OPTIONS ?? ''} ${preload}`);
      expect(await load(file)).toMatchObject({ code: null, stdout: '' });
      vi.unstubAllEnvs();
      expect((await load(file)).stdout).toContain(secondReport);
    },
  );
});
