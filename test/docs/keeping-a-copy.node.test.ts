/** The program of docs/keeping-a-copy.md, killed and started again, while listings come and go. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertyOf } from '../support/node/listings-file.ts';
import { claimPort } from '../support/node/port.ts';
import type { ProjectCopy, Service } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf } from './markdown.ts';

const API_KEY = 'dev_key_of_the_copy_test';
const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'copies-'));
const [program = ''] = codeBlocksOf('docs/keeping-a-copy.md', 'ts');
const samples = z
  .object({ properties: z.array(z.looseObject({ id: z.string(), status: z.string() })) })
  .parse(JSON.parse(readFileSync('tools/samples/listings.json', 'utf8')));

let project: ProjectCopy;
let service: Service;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\n`);
  service = await project.serve(await claimPort());
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
  await project.remove();
  rmSync(directory, { recursive: true });
});

async function keep(name = 'keep-copy.ts'): Promise<string[]> {
  const cwd = join(directory, 'copy');
  mkdirSync(cwd, { recursive: true });
  const env = { ...process.env, API_URL: service.origin, API_KEY };
  const args = ['--no-warnings', join('..', name)];
  const { stdout } = await run(process.execPath, args, { cwd, env }).catch((error: unknown) =>
    z.object({ signal: z.literal('SIGKILL'), stdout: z.string() }).parse(error),
  );
  return stdout.trimEnd().split('\n');
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

describe('the program of docs/keeping-a-copy.md', () => {
  it('has 60 lines at most', () => {
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  it('goes on where it was killed, and then holds the public catalogue', async () => {
    expect(await keep('killed.ts')).toHaveLength(60);
    expect(copied()).toHaveLength(40);
    await keep();
    expect(copied()).toEqual(publicIds());
    expect(copied()).toHaveLength(
      samples.properties.filter(({ status }) => status !== 'hidden').length,
    );
    expect(await keep()).toEqual([`${copied().length} listings`]);
  });

  it('follows what comes and what goes', async () => {
    const added = propertyOf({ slug: 'new-home' });
    const [, ...kept] = samples.properties.filter(({ status }) => status === 'listed');
    const others = samples.properties.filter(({ status }) => status !== 'listed');
    const content = { ...samples, properties: [...kept, ...others, added] };
    const file = project.write('changed.json', content);
    expect(await project.run('import-listings.ts', file, '--prune')).toMatchObject({ code: 0 });
    expect(
      (await keep())
        .slice(0, -1)
        .map((line) => line.split(' ')[0])
        .sort(),
    ).toEqual(['published', 'removed']);
    expect(copied()).toEqual(publicIds());
    expect(copied()).toContain(added.id);
  });

  it('keeps a listing that takes the slug of one that the same import hides', async () => {
    const [old, heir] = [propertyOf({ slug: 'villa' }), propertyOf({ slug: 'heir' })];
    const load = (...properties: object[]) =>
      project.run('import-listings.ts', project.write('villa.json', { properties }));
    expect(await load(old, heir)).toMatchObject({ code: 0 });
    await keep();
    const hidden = { ...old, slug: 'former-villa', status: 'hidden' };
    expect(await load({ ...heir, slug: 'villa' }, hidden)).toMatchObject({ code: 0 });
    expect((await keep()).slice(0, -1)).toEqual(['removed villa', 'published villa']);
    expect(copied()).toEqual(publicIds());
    expect(copied()).toContain(heir.id);
  });

  it('begins again when its cursor is not known', async () => {
    const file = join(directory, 'copy', 'copy.json');
    writeFileSync(file, JSON.stringify({ cursor: 'gone', listings: { gone: {} } }));
    await keep();
    expect(copied()).toEqual(publicIds());
  });
});
