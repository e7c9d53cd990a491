/** The file of a backup: whatever the rows are, it is read back, and any other file is rejected. */

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { dump } from '../../../tools/backup/dump.ts';
import { command as backup } from '../../../tools/commands/backup.ts';
import { command as restore } from '../../../tools/commands/restore.ts';
import type { WithDatabase } from '../../../tools/database/open.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { failingDatabase } from '../../support/node/failing-database.ts';
import { runOn, runWith } from '../../support/node/in-process.ts';

/** Texts that would end a line or a value of the file. */
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

it('has one row per line, and survives line ends that a transfer changed', async () => {
  const lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
  const rows = lines.filter((line) => line.startsWith('INSERT INTO "amenities"'));
  expect(rows).toHaveLength(TEXTS.length);
  writeFileSync(path('changed.sql'), text.replaceAll('\n', '\r\n'));
  const { sqlite, binding } = new Database('restored');
  const restored = await runOn(binding, restore, path('changed.sql'), '--no-ledger');
  expect(restored).toMatchObject({ code: 0 });
  const labels = sqlite.prepare('SELECT label FROM amenities ORDER BY slug').all();
  expect(labels.map(({ label }) => label)).toEqual(TEXTS);
});

it('is begun again when an import is applied while it runs', async () => {
  const { sqlite, binding } = new Database('migrated').migrate();
  let isApplied = false;
  const database = failingDatabase(binding, (sql) => {
    // The amenities have been read by then.
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

it('replaces no file, and is made of no database without tables', async () => {
  const { code, stderr } = await runOn(original.binding, backup, '--out', folder);
  expect([code, stderr]).toEqual([1, expect.stringContaining('exists already')]);
  expect(await runOn(new Database('empty').binding, backup, '--out', path('no'))).toMatchObject({
    code: 1,
    stderr: 'There is no backup: the database has no tables.\n',
  });
});

const made = path('made.sqlite');
/** Puts a line behind the statements of the file. */
const adding = (line: string) => () => text.replace('-- end', `${line}\n-- end`);

it.each<[fault: string, change: () => string]>([
  ['is cut short', () => text.slice(0, text.length / 2)],
  ['is cut short', () => text.slice(0, text.lastIndexOf('-- end'))],
  ['is cut short', adding(`ATTACH '${made}' AS a`)],
  ['was altered or is damaged', () => text.replace('café', 'cafe')],
  ['amenities does not have the rows that', () => text.replace('"amenities":7', '"amenities":9')],
  ['has data after its end', () => `${text}more\n`],
  ['is not a backup', () => ''],
  ['`COMMIT; ATTACH', adding(`COMMIT; ATTACH '${made}' AS a; CREATE TABLE a.b (c); BEGIN;`)],
  ['`COMMIT; VACUUM', adding(`COMMIT; VACUUM INTO '${made}'; BEGIN;`)],
  ['`/**/ VACUUM', adding(`/**/ VACUUM INTO '${made}';`)],
  ['`CREATE TABLE x', adding(`CREATE TABLE x (y); ATTACH '${made}' AS a;`)],
  ['`INSERT INTO amen', adding(`INSERT INTO amenities VALUES ('a', 'b'); DELETE FROM events;`)],
])('%s: the file is rejected before a database is opened', async (fault, change) => {
  const none: WithDatabase = () => Promise.reject(new Error('the database was opened'));
  writeFileSync(path('broken.sql'), change());
  const { code, stderr } = await runWith(none, restore, path('broken.sql'), '--no-ledger');
  expect([code, stderr]).toEqual([1, expect.stringContaining(fault)]);
  expect(stderr).toMatch(/^Not restored: .*broken\.sql .*\nNothing was changed\.\n$/);
  expect(existsSync(made)).toBe(false);
});
