/** Today's Worker and commands read everything that the release before has written. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RULES } from '../../src/properties/render.ts';
import { command as exportListings } from '../../tools/export-listings.ts';
import { command as importListings } from '../../tools/import-listings.ts';
import { command as restore } from '../../tools/restore.ts';
import { type Runtime, startRuntime } from '../../tools/workerd/runtime.ts';
import { Database } from '../support/cloudflare/database.ts';
import { runOn } from '../support/node/in-process.ts';
import { productionBundle } from '../support/node/production-service.ts';
import { TEST_VARS } from '../support/vars.ts';
import { fixtures, LEDGER, readFixture, readKey, writeDatabase } from './release.ts';

const API_KEY = 'the-key-of-the-test';
const INGEST = '/api/public/events/ingest';

const folder = mkdtempSync(join(tmpdir(), 'release-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file of the release. Returns its path. */
function fileOf(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, readFixture(name));
  return path;
}

describe('the Worker', () => {
  let runtime: Runtime;
  const { key, entry } = readKey();

  beforeAll(async () => {
    await writeDatabase(folder);
    const vars = { ...TEST_VARS, API_KEY, API_KEYS: JSON.stringify([entry]) };
    const options = { resourcePersistencePath: folder };
    runtime = await startRuntime(await productionBundle(), vars, options);
  });
  afterAll(() => runtime.stop());

  const request = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, runtime.url), {
      ...init,
      headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json', ...init.headers },
    });

  const postHeld = (body: object = fixtures.events.held.body) =>
    request(INGEST, {
      method: 'POST',
      headers: { 'Idempotency-Key': fixtures.events.held.key },
      body: JSON.stringify(body),
    });

  it.each(fixtures.cursors)('continues after the cursor of $path', async (taken) => {
    const { path, param, cursor, next } = taken;
    const response = await request(`${path}&${param}=${cursor}`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(next);
  });

  it('replays the event of a held key', async () => {
    const response = await postHeld();
    expect(response.status).toBe(200);
    expect(response.headers.get('Idempotent-Replayed')).toBe('true');
    const { response: first } = fixtures.events.held;
    expect(await response.json()).toEqual({ ...first, status: 'idempotent' });
  });

  it('replays the event of an entry of KV that D1 does not have', async () => {
    await runtime.database.exec('DELETE FROM events');
    const { key: id, value } = fixtures.kv;
    const current = { ...JSON.parse(value), accepted_at: Date.now() - 1_000 };
    const namespace = await runtime.kv();
    await namespace.put(id, JSON.stringify(current));
    const replayed = await postHeld();
    expect(replayed.status).toBe(200);
    expect(await replayed.json()).toMatchObject({ id, status: 'idempotent' });
  });

  it('opens the feed to the named key, and nothing else', async () => {
    const headers = { 'x-api-key': key };
    expect((await request('/api/v1/web/properties', { headers })).status).toBe(200);
    expect((await request(INGEST, { method: 'POST', headers, body: '{}' })).status).toBe(403);
  });
});

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
