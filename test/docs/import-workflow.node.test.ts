/**
 * Runs the steps of docs/examples/import.yml in a git repository that contains an export of twelve
 * sample listings.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import samples from '../../tools/samples/listings.json' with { type: 'json' };
import { hasGit, runGit, skipWithoutGit } from '../support/node/git.ts';
import { openMemoryImports } from '../support/node/memory-imports.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';
import { change, type Edit, editWorkbook } from '../support/node/workbook.ts';

const [, dryRunJob = '', importJob = ''] = readFileSync('docs/examples/import.yml', 'utf8').split(
  /^ {2}(?:dry-run|import):$/m,
);
/** Returns the script of a job's last step without its indentation. */
const parseScript = (job: string) =>
  (job.split('run: |\n').at(-1) ?? '').replaceAll(/^ {10}/gm, '');

const imports = openMemoryImports();
/** The local database of dry runs that run in the test's process. */
const local = openMemoryImports();
let project: ProjectCopy;
let workbook: Uint8Array;
let json: string;
const path = (...names: string[]) => join(project.directory, ...names);

// GitHub accepts comments of up to 65,536 characters. A change of twelve listings reaches a tenth of
// that length.
const dryRunScript = parseScript(dryRunJob).replaceAll('60000', '6000');

const git = (...args: string[]) => runGit(project.directory, ...args);

beforeAll(async () => {
  if (!hasGit) return;
  await imports.load({ ...samples, properties: samples.properties.slice(0, 12) });
  workbook = await imports.exportedWorkbook();
  json = await imports.exported();
  project = new ProjectCopy();
  for (const folder of ['listings', 'bin']) mkdirSync(path(folder));
  // This fake of `gh` always fails, because a rejected comment must not change the exit status.
  const gh = '[ "$(wc -m < comment.md)" -le 6553 ] && cp comment.md posted.md; exit 1';
  writeFileSync(path('bin/gh'), `#!/bin/sh\n${gh}\n`);
  chmodSync(path('bin/gh'), 0o755);
  git('init', '-qb', 'main');
  git('remote', 'add', 'origin', project.directory);
  commit('main', { 'catalogue.xlsx': workbook, 'catalogue.json': json });
});
beforeEach(skipWithoutGit);
afterAll(() => project?.remove());

/** Commits files in listings/ to a branch. Deletes a file if its content is null. */
function commit(branch: string, files: Record<string, Uint8Array | string | null>) {
  if (branch !== 'main') git('checkout', '-qB', branch);
  for (const [name, content] of Object.entries(files)) {
    if (content === null) rmSync(path('listings', name));
    else writeFileSync(path('listings', name), content);
  }
  git('add', '-A', 'listings');
  git('commit', '-qm', 'a change');
}

/** Runs the dry-run script like GitHub: on a merge of the branch into main. */
function dryRun(branch: string, file: string, isFork = false) {
  git('checkout', '-q', 'main');
  const main = git('rev-parse', 'HEAD').trim();
  git('merge', '-q', '--no-ff', '-m', 'merge', branch);
  git('update-ref', 'refs/pull/1/merge', 'HEAD');
  git('reset', '-q', '--hard', main);
  for (const name of ['posted.md', 'summary.md', '.wrangler']) {
    rmSync(path(name), { recursive: true, force: true });
  }
  const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', dryRunScript], {
    cwd: project.directory,
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${path('bin')}:${process.env.PATH}`,
      FILE: `listings/${file}`,
      MERGE: 'refs/pull/1/merge',
      PULL_REQUEST: 'it',
      IS_FORK: String(isFork),
      GITHUB_STEP_SUMMARY: path('summary.md'),
    },
  });
  const posted = existsSync(path('posted.md'))
    ? readFileSync(path('posted.md'), 'utf8')
    : undefined;
  return { status, stdout, stderr, posted, summary: readFileSync(path('summary.md'), 'utf8') };
}

/** Runs the two commands of the dry-run script in the test's process, which is faster. */
async function dryRunInProcess(old: Uint8Array, file: Uint8Array) {
  local.clear();
  const imported = await local.load(old);
  expect(imported.code, imported.stderr).toBe(0);
  const { code, stdout, stderr } = await local.load(
    file,
    ...['--dry-run', '--prune', '--overwrite'],
  );
  return { status: code, changes: stderr + stdout };
}

describe('import.yml', () => {
  it('fails if the file has a problem', async () => {
    const edit = change('listings', 'casa-ginebrera', { price_from: '295.000' });
    commit('problem', { 'catalogue.xlsx': await editWorkbook(workbook, edit) });
    const { status, posted, stdout, summary } = dryRun('problem', 'catalogue.xlsx', true);
    expect(summary).toContain('price_from "295.000" is not a number');
    expect(stdout).toContain('A pull request from a fork may not comment');
    expect([status, posted]).toEqual([1, undefined]);
  });

  const LONG = 'A new text of the agency, which is rather long, as such texts are';
  const TOO_LONG = '\n```\nThe rest is in the summary of this job.\n';
  /**
   * The edit of each pull request, a part of the expected comment, and what somebody else does
   * before the merge.
   */
  const PULL_REQUESTS: [edit: Edit, comment: string, meanwhile?: 'edit' | 'undo'][] = [
    [copyRow('listings', { slug: 'casa-copia', name: 'Casa Copia' }), 'New: casa-copia\n'],
    [
      change('listings', 'casa-copia', { price_from: 295000 }),
      'casa-copia: price_from 289000 → 295000',
    ],
    [
      copyRow('photos', { url: 'https://a/1.webp', hero: null }),
      'casa-ginebrera: 1 photo added',
      'edit',
    ],
    [
      change('listings', 'villa-azenha', { price_from: 170000 }),
      'villa-azenha: price_from ',
      'undo',
    ],
    [translateAll, TOO_LONG],
    [
      change('listings', 'casa-copia', { status: 'hidden' }),
      'casa-copia: status "listed" → ',
      'edit',
    ],
  ];

  function copyRow(sheet: string, cells: object): Edit {
    return ({ [sheet]: rows }) => rows?.push({ ...rows[0], ...cells });
  }

  function translateAll({ listings = [], photos = [] }: Parameters<Edit>[0]) {
    for (const row of [...listings, ...photos]) {
      for (const name of Object.keys(row)) {
        if (/^(title|description|location_text|alt)\./.test(name)) row[name] = `${LONG} ${name}`;
      }
    }
  }

  it('comments on a pull request and imports its merge, six times in a row', async () => {
    let file = workbook;
    const undo = path('undo.json');
    for (const [at, [edit, comment, meanwhile]] of PULL_REQUESTS.entries()) {
      const old = file;
      file = await editWorkbook(file, edit);
      // The script itself runs only for an ordinary comment and for one that is too long.
      if (at === 0 || comment === TOO_LONG) {
        commit(`pull-${at}`, { 'catalogue.xlsx': file });
        const { status, posted, stderr, summary } = dryRun(`pull-${at}`, 'catalogue.xlsx');
        expect(posted, stderr).toMatch(
          /^What a merge would change:\n```\nDry run: nothing was written\./,
        );
        expect(posted).toContain(comment);
        expect(summary).toMatch(/\d+ listings: [01] added, /);
        expect(status).toBe(0);
        git('reset', '-q', '--hard', 'refs/pull/1/merge');
      } else {
        const { status, changes } = await dryRunInProcess(old, file);
        expect(changes).toMatch(/^Dry run: nothing was written\./);
        expect(changes).toContain(comment);
        expect(changes).toMatch(/\d+ listings: [01] added, /);
        expect(status).toBe(0);
        commit('main', { 'catalogue.xlsx': file });
      }

      if (meanwhile === 'edit') {
        const otherEdit = change('listings', 'villa-azenha', { price_from: at, city: 'Faro' });
        const edited = await editWorkbook(await imports.exportedWorkbook(), otherEdit);
        expect(await imports.load(edited)).toMatchObject({ code: 0 });
      }
      if (meanwhile === 'undo')
        expect(await imports.run(undo, '--many')).toMatchObject({ code: 0 });
      rmSync(undo, { force: true });
      const options = ['--prune', '--overwrite'];
      const merged = await imports.load(file, ...options, '--undo', undo);
      expect(merged.code, merged.stderr).toBe(0);
      const { stdout } = await imports.load(file, ...options, '--dry-run');
      expect(stdout).toContain('Nothing changed: the store already holds all of it.');
    }
  }, 600_000);

  it('shows only the changes of the pull request if its branch is behind main', () => {
    commit('behind', {
      'catalogue.json': json.replace('"price_from":289000', '"price_from":295000'),
    });
    git('checkout', '-q', 'main');
    commit('main', {
      'catalogue.json': json.replace('"price_from":168500', '"price_from":170000'),
    });
    const { posted, status } = dryRun('behind', 'catalogue.json');
    expect(posted).toContain('12 listings: 0 added, 1 changed, 11 unchanged\n');
    expect(status).toBe(0);
  });

  it('compares a new file with an empty database', () => {
    commit('added', { 'new.json': json });
    const added = dryRun('added', 'new.json');
    expect(added.posted).toMatch(
      /^main has no listings\/new\.json, so every listing is new here\./,
    );
    expect(added.posted).toContain('12 listings: 12 added, 0 changed, 0 unchanged\n');
    expect(added.status).toBe(0);
  });

  it('imports nothing if a pull request deletes the file', () => {
    commit('deleted', { 'catalogue.xlsx': null });
    const deleted = dryRun('deleted', 'catalogue.xlsx');
    expect([deleted.status, deleted.posted]).toEqual([
      0,
      'This pull request deletes or renames listings/catalogue.xlsx. Its merge imports nothing: the deployed listings stay as they are.\n',
    ]);
    const env = { ...process.env, FILE: 'listings/none.xlsx' };
    const { stdout } = spawnSync('bash', ['-e', '-c', parseScript(importJob)], {
      cwd: project.directory,
      env,
      encoding: 'utf8',
    });
    expect(stdout).toBe(
      'main has no listings/none.xlsx. Nothing was imported: the deployed listings stay as they are.\n',
    );
  });

  it('truncates comments to 60,000 characters', () => {
    expect(dryRunJob).toMatch(/-gt 60000 \]; then\s+text=\$\{text:0:60000\}/);
  });

  it('gives the token only to the job that imports a merge', () => {
    expect(dryRunJob).not.toContain('secrets.');
    expect(importJob).toContain('\n    environment: listings\n');
    const lines = parseScript(importJob)
      .split('\n')
      .filter((line) => line.includes('import-listings'));
    expect(lines.map((line) => line.trim())).toEqual([
      'npm run -s import-listings -- "$FILE" --prune --overwrite --remote --no-undo',
    ]);
  });
});
