/**
 * A look into the file of the local database. To open it as the service does takes a second and a half, at every
 * start of `dev`.
 */

import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { STATE_DIRECTORY } from '../command-line/project.ts';
import { migrationNames } from '../database/migrations.ts';

/** Workerd names the file by a hash. Another file beside it may be the database of another binding. */
const FILES = 'd1/miniflare-D1DatabaseObject/[0-9a-f]*.sqlite';

/** Reports whether the database surely has every table, and a listing. */
export function isDatabaseReady(state = STATE_DIRECTORY): boolean {
  const [file, ...others] = globSync(FILES, { cwd: state });
  if (file === undefined || others.length > 0) return false;
  try {
    const database = new DatabaseSync(join(state, file), { readOnly: true });
    try {
      const applied = database.prepare('SELECT name FROM d1_migrations').all();
      const names = new Set(applied.map(({ name }) => name));
      const listing = database.prepare('SELECT 1 FROM properties LIMIT 1').get();
      return listing !== undefined && migrationNames().every((name) => names.has(name));
    } finally {
      database.close();
    }
  } catch {
    // It is locked, not migrated or unreadable: whoever opens it next says which.
    return false;
  }
}
