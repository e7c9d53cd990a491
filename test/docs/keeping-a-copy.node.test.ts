/** The program of docs/guides/keeping-a-copy.md, killed and started again, while listings come and go. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertyOf } from '../support/node/listings-file.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import type { ServedCopy } from '../support/node/served-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf } from './markdown.ts';

const API_KEY = 'dev_key_of_the_copy_test';
const directory = mkdtempSync(join(tmpdir(), 'copies-'));
const [program = ''] = codeBlocksOf('docs/guides/keeping-a-copy.md', 'ts');
const samples = z
  .object({ properties: z.array(z.looseObject({ id: z.string(), status: z.string() })) })
  .parse(JSON.parse(readFileSync('tools/samples/listings.json', 'utf8')));

/** The programs that were started. */
const programs: ChildProcess[] = [];
let project: ProjectCopy;
let service: ServedCopy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\n`);
  service = await project.serve();
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'keep-copy.ts'), program);
  writeFileSync(
    join(directory, 'killed.ts'),
    program
      .replace('limit=100', 'limit=20')
      .replace(
        '  store(copy);',
        "  if (++pages === 3) process.kill(process.pid, 'SIGKILL');\n  store(copy);",
      )
      .replace('let copy', 'let pages = 0;\nlet copy'),
  );
});

afterAll(async () => {
  for (const child of programs) child.kill('SIGKILL');
  await project.remove();
  rmSync(directory, { recursive: true });
});

/** The program while it runs, and the lines that it has printed. */
type Keeper = { child: ChildProcess; lines: string[] };

function start(name = 'keep-copy.ts'): Keeper {
  const cwd = join(directory, 'copy');
  mkdirSync(cwd, { recursive: true });
  const env = { ...process.env, API_URL: service.origin, API_KEY };
  const args = ['--no-warnings', join('..', name)];
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  programs.push(child);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { child, lines };
}

/** Waits until the copy holds the public catalogue. */
async function untilInStep(): Promise<void> {
  await expect.poll(copied, { timeout: 20_000 }).toEqual(publicIds());
}

/** Runs the program until so many lines are printed and the copy holds the public catalogue, and kills it. */
async function keep(count: number): Promise<string[]> {
  const { child, lines } = start();
  await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(count);
  await untilInStep();
  child.kill('SIGKILL');
  await once(child, 'close');
  return lines;
}

function copied(): string[] {
  const text = readFileSync(join(directory, 'copy', 'copy.json'), 'utf8');
  const { listings } = z
    .object({ listings: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(text));
  return Object.keys(listings).sort();
}

const publicIds = () =>
  project
    .rows(`SELECT id FROM properties WHERE status <> 'hidden' ORDER BY id`)
    .map(({ id }) => id);

describe('the program of docs/guides/keeping-a-copy.md', () => {
  it('has 60 lines at most', () => {
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  it('goes on where it was killed, and then holds the public catalogue', async () => {
    const killed = start('killed.ts');
    await once(killed.child, 'close');
    expect(killed.lines).toHaveLength(60);
    expect(copied()).toHaveLength(40);
    const all = samples.properties.filter(({ status }) => status !== 'hidden').length;
    await keep(all - 40);
    expect(copied()).toHaveLength(all);
  });

  it('hears of what comes and what goes while it waits, and of nothing twice', async () => {
    const { child, lines } = start();
    const added = propertyOf({ slug: 'new-home' });
    const [, ...kept] = samples.properties.filter(({ status }) => status === 'listed');
    const others = samples.properties.filter(({ status }) => status !== 'listed');
    const content = { ...samples, properties: [...kept, ...others, added] };
    const file = project.write('changed.json', content);
    expect(await project.run('import-listings.ts', file, '--prune')).toMatchObject({ code: 0 });
    await untilInStep();
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(['published', 'removed']);
    expect(copied()).toContain(added.id);
    child.kill('SIGKILL');
  });

  it('keeps a listing that takes the slug of one that the same import hides', async () => {
    const [old, heir] = [propertyOf({ slug: 'villa' }), propertyOf({ slug: 'heir' })];
    const load = (...properties: object[]) =>
      project.run('import-listings.ts', project.write('villa.json', { properties }));
    expect(await load(old, heir)).toMatchObject({ code: 0 });
    await keep(2);
    const hidden = { ...old, slug: 'former-villa', status: 'hidden' };
    expect(await load({ ...heir, slug: 'villa' }, hidden)).toMatchObject({ code: 0 });
    expect(await keep(2)).toEqual(['removed villa', 'published villa']);
    expect(copied()).toContain(heir.id);
  });

  it('starts from nothing when the database is set back, and drops what was undone', async () => {
    const { child, lines } = start();
    const undone = copied()[0];
    project.execute(`DELETE FROM properties WHERE id = '${undone}';
      UPDATE database_identity SET generation = 'another'`);
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(publicIds().length);
    await untilInStep();
    expect(copied()).not.toContain(undone);
    child.kill('SIGKILL');
  });
});
