/** What a user of the latest release has in hand: tools/release/make-fixtures.ts makes the files. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import * as z from 'zod';
import { openLocal, wrapSqlite } from '../../tools/database/local.ts';
import { migrate } from '../../tools/database/migrations.ts';

const FOLDER = join(import.meta.dirname, '1.0.0');

const schema = z.object({
  key: z.string(),
  undo: z.object({ slug: z.string(), before: z.string(), after: z.string() }),
});

export const fixtures = schema.parse(
  JSON.parse(readFileSync(join(FOLDER, 'fixtures.json'), 'utf8')),
);

/** Returns the bytes of a file that is kept compressed. */
export function readFixture(name: string): Buffer {
  return brotliDecompressSync(readFileSync(join(FOLDER, `${name}.br`)));
}

export const LEDGER = join(FOLDER, 'erasures.jsonl');

/** The key that the command of the release printed, and its entry of `API_KEYS`. */
export function readKey() {
  const { key: printed } = fixtures;
  const [key = ''] = printed.split('\n');
  const value = (name: string) => new RegExp(`^${name} = (.*)$`, 'm').exec(printed)?.[1] ?? '""';
  const entry = {
    name: JSON.parse(value('name')),
    scopes: JSON.parse(value('scopes')),
    sha256: JSON.parse(value('sha256')),
  };
  return { key, entry };
}

/** Writes the database of the release into the local state of a runtime, with today's migrations. */
export async function writeDatabase(state: string): Promise<void> {
  using sqlite = openLocal(join(state, 'd1/miniflare-D1DatabaseObject'));
  sqlite.exec(readFixture('backup.sql').toString());
  await migrate(wrapSqlite(sqlite));
}
