/** The file that undoes an import is there if the import was applied, and only then. */

import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { UserError } from '../../../tools/command-line/user-error.ts';
import type { WithDatabase } from '../../../tools/database/open.ts';
import { importCommand } from '../../../tools/import/command.ts';
import { runWith } from '../../support/node/in-process.ts';
import { importInto, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { tapD1 } from '../../support/tap.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'undo-'));
const path = join(folder, 'listings.json');
const file = { properties: [propertyOf({ slug: 'one' })] };
writeFileSync(path, JSON.stringify(file));
beforeEach(() => imports.clear());

const load = (open: WithDatabase, undo: string) =>
  runWith(open, importCommand, path, '--undo', undo);

it('an import that is overtaken by the same one leaves no file and offers none', async () => {
  const undo = join(folder, 'overtaken.json');
  const overtaken = tapD1(imports.database, async (call) => {
    if (existsSync(undo)) await importInto(imports.database, file);
    return call();
  });
  const { code, stdout } = await load((_target, work) => work(overtaken), undo);
  expect([code, stdout]).toEqual([0, expect.stringContaining('0 changed, 1 unchanged')]);
  expect([stdout.includes('To undo it'), existsSync(undo)]).toEqual([false, false]);
});

it('an import whose report fails keeps it, in a directory that it makes, and claims nothing', async () => {
  const undo = join(folder, 'backups', 'undo.json');
  const open: WithDatabase = async (_target, work) => {
    const outcome = await work(imports.database);
    vi.spyOn(console, 'log').mockImplementation(() => {
      throw new UserError('the output has failed');
    });
    return outcome;
  };
  expect(await load(open, undo)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'the output has failed\n',
  });
  expect(existsSync(undo)).toBe(true);
});
