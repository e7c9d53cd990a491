/** The file that undoes an import. */

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { undoFileAt } from '../../../tools/import/undo-file.ts';

it('is written again by an import that begins again, in a directory that it makes', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'undo-')), 'backups', 'undo.json');
  const file = undoFileAt(path);
  file.save(['first']);
  file.save(['{', '}']);
  expect(readFileSync(path, 'utf8')).toBe('{}');
});
