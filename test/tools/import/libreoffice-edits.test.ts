import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { editWith } from '../../support/node/libreoffice.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'edits-'));
afterAll(() => rmSync(folder, { recursive: true }));
const basic = readFileSync('test/tools/import/libreoffice/edits.bas', 'utf8');
const names = [...basic.matchAll(/^ {2}Case \"(.*)\"$/gm)].map(([, name = '']) => name);

it('x', async () => {
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
  console.log(names.length);
  const t = Date.now();
  const edited = editWith(folder, basic, await imports.exportedWorkbook(), names);
  console.log(Date.now() - t);
  const { writeFileSync, appendFileSync } = await import('node:fs');
  writeFileSync('/tmp/sheets-export.xlsx', await imports.exportedWorkbook());
  writeFileSync('/tmp/sheets-edits.txt', '');
  for (const [name, bytes] of edited) {
    writeFileSync(`/tmp/sheets-edits-${name}.xlsx`, bytes);
    const done = await imports.loadWorkbook(bytes, '--dry-run');
    appendFileSync('/tmp/sheets-edits.txt', `=== ${name} ${done.code}\n${done.stdout.slice(0, 900)}${done.stderr.slice(0, 900)}\n`);
  }
}, 600_000);
