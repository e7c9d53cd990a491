/** Tests that the current commands can read what the previous release's commands wrote. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RULES_VERSION } from '../../src/properties/render.ts';
import { command as exportListings } from '../../tools/commands/export-listings.ts';
import { command as importListings } from '../../tools/commands/import-listings.ts';
import { command as restore } from '../../tools/commands/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { getCodeBlocks } from '../support/markdown.ts';
import { runOn } from '../support/node/in-process.ts';
import { Release } from './release.ts';

const EVENTS = `
  INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
  SELECT 'e-' || value, 'booking.created', 'booking', iif(value = 8, 'bk_erased', 'bk_1'), 1, '{"guests":1}'
  FROM json_each('[1,2,3,4,5,6,7,8]')`;

const release = new Release();
const file = (name: string) => join(release.folder, name);
const restored = new Database('restored');
const { properties } = JSON.parse(readFileSync('tools/samples/listings.json', 'utf8'));
const [{ slug, name: before }] = properties;
const rows = (sql: string) => restored.sqlite.prepare(sql).all();
const readName = () =>
  rows(`SELECT source ->> 'name' AS name FROM properties WHERE slug = '${slug}'`);

beforeAll(async () => {
  writeFileSync(file('patch.json'), JSON.stringify({ properties: [{ slug, name: 'Changed' }] }));
  release.run('import-listings', 'patch.json', '--patch', '--undo', 'undo.json');
  using sqlite = release.open();
  sqlite.exec(EVENTS);
  const erased = ['--aggregate-type', 'booking', '--aggregate-id', 'bk_erased'];
  release.run('erase-events', ...erased, '--ledger', 'ledger.jsonl');
  release.run('backup', '--out', 'backup.sql');
  release.run('export-listings', '--out', 'listings.json');

  const ledger = ['--ledger', file('ledger.jsonl')];
  const done = await runOn(restored.binding, restore, file('backup.sql'), ...ledger);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  // A later version of the rules renders every listing again, but does not change its fields.
  const renew = "UPDATE properties SET rendering = ? || substr(rendering, instr(rendering, ' '))";
  restored.sqlite.prepare(renew).run(String(RULES_VERSION));
}, 60_000);
afterAll(() => release.remove());

describe('the current version', () => {
  it('restores a backup and repeats its erasures', () => {
    expect(rows('SELECT count(*) AS stored FROM properties')).toEqual([{ stored: 71 }]);
    expect(rows("SELECT aggregate_id FROM events WHERE payload = '{}'")).toEqual([
      { aggregate_id: 'bk_erased' },
    ]);
    expect(rows('SELECT count(*) AS stored FROM events')).toEqual([{ stored: 8 }]);
  });

  it('finds no changes in an unedited export', async () => {
    const args = [file('listings.json'), '--no-undo'];
    const { stdout } = await runOn(restored.binding, importListings, ...args);
    expect(stdout).toContain('Nothing changed: the store already holds all of it.');
  });

  it('imports an undo file', async () => {
    expect(readName()).toEqual([{ name: 'Changed' }]);
    const args = [file('undo.json'), '--no-undo', '--patch'];
    expect(await runOn(restored.binding, importListings, ...args)).toMatchObject({ code: 0 });
    expect(readName()).toEqual([{ name: before }]);
    const { stdout } = await runOn(restored.binding, exportListings);
    expect(JSON.parse(stdout).properties).toHaveLength(71);
  });
});

describe("the runbook's command for undoing a deployment", () => {
  it('restores neither settings nor migrations', () => {
    const command = getCodeBlocks('docs/operate/runbook.md', 'sh')
      .flatMap((block) => block.split('\n'))
      .find((line) => line.startsWith('git restore --source=COMMIT'));
    const restoredPaths = 'src tools test docs package.json package-lock.json';
    const others = 'git commit -m "Undo to COMMIT" && npm ci && npm run deploy';
    expect(command?.replace(/^.* -- /, '')).toBe(`${restoredPaths} && ${others}`);
  });
});
