/** `set-status`: it sets the status of listings, and nothing else of them. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemoryImports } from '../support/node/memory-imports.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const SET_STATUS = 'set-status.ts';
const HOME = 'casa-ginebrera';

describe('set-status', () => {
  const imports = openMemoryImports();
  beforeAll(async () => {
    await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
  });

  const rows = () => imports.rows('SELECT * FROM properties ORDER BY id');
  /** Returns the stored listings, without their statuses. */
  const sources = () =>
    imports.rows(`SELECT json_remove(source, '$.status') AS source FROM properties ORDER BY id`);
  const statusesOf = (...slugs: string[]) =>
    slugs.map(
      (slug) => imports.rows(`SELECT status FROM properties WHERE slug = '${slug}'`)[0]?.status,
    );

  it('prints the changes under --dry-run, and writes nothing', async () => {
    const before = rows();
    const dry = await imports.setStatus('hidden', HOME, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toContain(`\n${HOME}: status "listed" → "hidden"\n`);
    expect(rows()).toEqual(before);
  });

  it('sets the status of several listings, one of them named twice, and nothing else of them', async () => {
    const before = sources();
    const hidden = await imports.setStatus('hidden', HOME, HOME, 'casa-nopal');
    expect(hidden).toMatchObject({ code: 0, stderr: '' });
    // The second one was hidden before.
    expect(hidden.stdout).toContain('2 listings: 0 added, 1 changed, 1 unchanged\n');
    expect(statusesOf(HOME, 'casa-nopal')).toEqual(['hidden', 'hidden']);
    const shown = await imports.setStatus('listed', HOME);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(statusesOf(HOME, 'casa-nopal')).toEqual(['listed', 'hidden']);
    expect(sources()).toEqual(before);
  });

  it('rejects an unknown status or slug, and changes nothing', async () => {
    const before = rows();
    const rejected = await imports.setStatus('sold', HOME);
    expect([rejected.code, rejected.stderr]).toEqual([
      1,
      `${HOME}: status "sold" must be one of listed, coming_soon, sold_out, hidden\n1 problem. Nothing was changed.\n`,
    ]);
    const unknown = await imports.setStatus(
      'hidden',
      HOME,
      'casa-ginebrer',
      'nowhere',
      'elsewhere',
    );
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      `casa-ginebrer: no stored listing has the slug casa-ginebrer: did you mean ${HOME}?\nnowhere: no stored listing has the slug nowhere\nelsewhere: no stored listing has the slug elsewhere\n3 problems. Nothing was changed.\n`,
    ]);
    expect(rows()).toEqual(before);
  });
});

describe('the program set-status', () => {
  let project: ProjectCopy;
  beforeAll(async () => {
    project = await copyWithStore('samples');
  });
  afterAll(() => project.remove());

  it('does its work in the local database when the reader of its output has ended', () => {
    const line = `node tools/${SET_STATUS} sold_out ${HOME} | head -c 1`;
    const { status, stderr } = spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
      cwd: project.directory,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const home = `SELECT status FROM properties WHERE slug = '${HOME}'`;
    expect(project.rows(home)).toEqual([{ status: 'sold_out' }]);
  });
});
