/** Today's commands read everything that those of the release before have written. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RULES } from '../../src/properties/render.ts';
import { command as exportListings } from '../../tools/export-listings.ts';
import { command as importListings } from '../../tools/import-listings.ts';
import { command as restore } from '../../tools/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { runOn } from '../support/node/in-process.ts';
import { fixtures, LEDGER, readFixture } from './release.ts';

const folder = mkdtempSync(join(tmpdir(), 'release-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file of the release. Returns its path. */
function fileOf(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, readFixture(name));
  return path;
}

describe('a command', () => {
  const restored = new Database('restored');

  beforeAll(async () => {
    const done = await runOn(restored.binding, restore, fileOf('backup.sql'), '--ledger', LEDGER);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    // Rules of a later version render every listing again, which is no change of its fields.
    const renew = "UPDATE properties SET rendering = ? || substr(rendering, instr(rendering, ' '))";
    restored.sqlite.prepare(renew).run(String(RULES.version));
  });

  const rows = (sql: string) => restored.sqlite.prepare(sql).all();
  const nameOf = () =>
    rows(`SELECT source ->> 'name' AS name FROM properties WHERE slug = '${fixtures.undo.slug}'`);

  it('restores the backup, with its erasures', () => {
    expect(rows('SELECT count(*) AS stored FROM properties')).toEqual([{ stored: 71 }]);
    const erased = rows("SELECT payload FROM events WHERE aggregate_id = 'bk_erased'");
    expect(erased).toEqual([{ payload: '{}' }]);
    expect(rows("SELECT count(*) AS kept FROM events WHERE payload <> '{}'")).toEqual([
      { kept: 7 },
    ]);
  });

  it('imports the export, which changes nothing', async () => {
    const file = fileOf('listings.json');
    const { code, stdout } = await runOn(restored.binding, importListings, file, '--no-undo');
    expect(code).toBe(0);
    expect(stdout).toContain('Nothing changed: the store already holds all of it.');
  });

  it('undoes the import of an undo file', async () => {
    expect(nameOf()).toEqual([{ name: fixtures.undo.after }]);
    const file = fileOf('undo.json');
    const { code } = await runOn(restored.binding, importListings, file, '--no-undo', '--patch');
    expect(code).toBe(0);
    expect(nameOf()).toEqual([{ name: fixtures.undo.before }]);
  });

  it('exports the restored catalogue', async () => {
    const { code, stdout } = await runOn(restored.binding, exportListings);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).properties).toHaveLength(71);
  });
});
