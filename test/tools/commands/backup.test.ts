/** Tests of the backup file. Any row must survive in it, and a damaged file must be rejected. */

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { dump } from '../../../tools/backup/dump.ts';
import { command as backup } from '../../../tools/commands/backup.ts';
import { command as restore } from '../../../tools/commands/restore.ts';
import type { WithDatabase } from '../../../tools/database/open.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { failingDatabase } from '../../support/node/failing-database.ts';
import { runOn, runWith } from '../../support/node/in-process.ts';

/** Strings that could break a line or a value in the file. */
const TEXTS = [
  'a line separator \u2028, a paragraph separator \u2029 and a next line \u0085',
  'a vertical tab \v, a form feed \f and a lone carriage return \r',
  'a line feed \n, and both \r\n',
  `it's NUL \0 and "quotes"`,
  '\n-- end {}\n-- rows\n',
  'beyond the BMP: café 🏔\ufeff\u00a0',
  'longer than a chunk: é\u2028'.repeat(4_000),
];

const folder = mkdtempSync(join(tmpdir(), 'backup-'));
const path = (name: string) => join(folder, name);
const original = new Database('original').migrate();
let text: string;

beforeAll(async () => {
  const insert = original.sqlite.prepare('INSERT INTO amenities (slug, label) VALUES (?, ?)');
  for (const [index, label] of TEXTS.entries()) insert.run(`a${index}`, label);
  const saved = await runOn(original.binding, backup, '--out', path('backup.sql'));
  expect(saved).toMatchObject({ code: 0, stderr: '' });
  text = readFileSync(path('backup.sql'), 'utf8');
});

describe('backup file', () => {
  it('contains one row per line', () => {
    const lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
    const rows = lines.filter((line) => line.startsWith('INSERT INTO "amenities"'));
    expect(rows).toHaveLength(TEXTS.length);
  });

  it('can be restored even if a file transfer has changed its line ends', async () => {
    writeFileSync(path('changed.sql'), text.replaceAll('\n', '\r\n'));
    const { sqlite, binding } = new Database('restored');
    const restored = await runOn(binding, restore, path('changed.sql'), '--no-ledger');
    expect(restored).toMatchObject({ code: 0 });
    const labels = sqlite.prepare('SELECT label FROM amenities ORDER BY slug').all();
    expect(labels.map(({ label }) => label)).toEqual(TEXTS);
  });

  it('contains an import that was applied during the backup', async () => {
    const { sqlite, binding } = new Database('migrated').migrate();
    let isApplied = false;
    const database = failingDatabase(binding, (sql) => {
      // At this point, the amenities have already been read.
      if (isApplied || !sql.includes('"payload" AS "payload"')) return undefined;
      isApplied = true;
      sqlite.exec(
        `INSERT INTO amenities VALUES ('wifi', 'late');
       INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1')`,
      );
      return undefined;
    });
    await dump(database, 'again', path('again.sql'));
    expect(readFileSync(path('again.sql'), 'utf8')).toContain(`'late'`);
  });

  it('never replaces an existing file', async () => {
    const { code, stderr } = await runOn(original.binding, backup, '--out', folder);
    expect([code, stderr]).toEqual([1, expect.stringContaining('already exists')]);
    expect(stderr).toMatch(/^Not backed up: .*\nNo file was written\.\n$/);
  });

  it('is not written if the database has no tables', async () => {
    expect(await runOn(new Database('empty').binding, backup, '--out', path('no'))).toMatchObject({
      code: 1,
      stderr: 'Not backed up: the database has no tables.\nNo file was written.\n',
    });
    expect(existsSync(path('no'))).toBe(false);
  });
});

const made = path('made.sqlite');
/** Returns a function that adds a line after the last statement. */
const addLine = (line: string) => () => text.replace('-- end', `${line}\n-- end`);

describe('restore', () => {
  it.each<[problem: string, change: () => string]>([
    ['is cut short', () => text.slice(0, text.length / 2)],
    ['is cut short', () => text.slice(0, text.lastIndexOf('-- end'))],
    ['is cut short', addLine(`ATTACH '${made}' AS a`)],
    ['was altered or is damaged', () => text.replace('café', 'cafe')],
    [
      'the table amenities does not have as many rows',
      () => text.replace('"amenities":7', '"amenities":9'),
    ],
    ['has data after its end', () => `${text}more\n`],
    ['is not a backup', () => ''],
    ['`COMMIT; ATTACH', addLine(`COMMIT; ATTACH '${made}' AS a; CREATE TABLE a.b (c); BEGIN;`)],
    ['`COMMIT; VACUUM', addLine(`COMMIT; VACUUM INTO '${made}'; BEGIN;`)],
    ['`/* */ VACUUM', addLine(`/* */ VACUUM INTO '${made}';`)],
    ['`CREATE TABLE x', addLine(`CREATE TABLE x (y); ATTACH '${made}' AS a;`)],
    ['`INSERT INTO amen', addLine(`INSERT INTO amenities VALUES ('a', 'b'); DELETE FROM events;`)],
  ])('rejects a file without opening a database (%s)', async (problem, change) => {
    const failToOpen: WithDatabase = () => Promise.reject(new Error('the database was opened'));
    writeFileSync(path('broken.sql'), change());
    const { code, stderr } = await runWith(failToOpen, restore, path('broken.sql'), '--no-ledger');
    expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
    expect(stderr).toMatch(/^Not restored: .*broken\.sql .*\nNothing was changed\.\n$/);
    expect(existsSync(made)).toBe(false);
  });
});
