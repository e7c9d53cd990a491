import { cpSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDatabaseReady } from '../../../tools/development/local-database.ts';
import { copyStore } from '../../support/node/stores.ts';

let state: string;

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'state-'));
});
afterEach(() => rmSync(state, { recursive: true }));

const v3 = () => join(state, 'v3');

function databaseFile(): string {
  const [file = ''] = globSync('d1/*/[0-9a-f]*.sqlite', { cwd: v3() });
  return join(v3(), file);
}

function execute(statement: string): void {
  const database = new DatabaseSync(databaseFile());
  database.exec(statement);
  database.close();
}

describe('the local database', () => {
  it('is ready with every table and a listing', async () => {
    await copyStore('samples', state);
    expect(isDatabaseReady(v3())).toBe(true);
  });

  it('is not ready where there is none', () => {
    expect(isDatabaseReady(v3())).toBe(false);
  });

  it('is not ready without a listing', async () => {
    await copyStore('empty', state);
    expect(isDatabaseReady(v3())).toBe(false);
  });

  it.each([
    ['a migration is missing', 'DELETE FROM d1_migrations WHERE id = 2'],
    ['no migration is recorded', 'DROP TABLE d1_migrations'],
    ['a table is missing', 'DROP TABLE properties'],
  ])('is not ready when %s', async (_, statement) => {
    await copyStore('samples', state);
    execute(statement);
    expect(isDatabaseReady(v3())).toBe(false);
  });

  it('is not surely ready when there are two', async () => {
    await copyStore('samples', state);
    const file = databaseFile();
    cpSync(file, file.replace(/\w\.sqlite$/, 'x.sqlite'));
    expect(isDatabaseReady(v3())).toBe(false);
  });
});
