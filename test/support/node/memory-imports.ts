/** Runs an editor's commands in the test's process, on a database in memory. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { command as importCommand } from '../../../tools/commands/import-listings.ts';
import { command as statusCommand } from '../../../tools/commands/set-status.ts';
import { exportListings } from '../../../tools/import/export.ts';
import { Database } from '../cloudflare/database.ts';
import { source } from '../listings.ts';
import { runImportOn } from './in-process.ts';

/** Opens an empty database. Closes it after the tests of the calling file or `describe`. */
export function openMemoryImports() {
  const store = new Database('in-memory');
  store.migrate();
  const database = store.binding;
  const directory = mkdtempSync(join(tmpdir(), 'imports-'));
  afterAll(() => store.sqlite.close());
  const exportAs = async (form: 'json' | 'workbook') => {
    const pieces: Uint8Array[] = [];
    for await (const piece of exportListings(database, () => {}, form)) {
      pieces.push(Buffer.from(piece));
    }
    return Buffer.concat(pieces);
  };
  return {
    database,
    /** Imports a file. Strings and bytes are written unchanged, and other values as JSON. */
    load(content: unknown, ...options: string[]) {
      const path = join(directory, 'listings.json');
      const isRaw = typeof content === 'string' || content instanceof Uint8Array;
      writeFileSync(path, isRaw ? content : JSON.stringify(content));
      return runImportOn(database, importCommand, path, ...options);
    },
    setStatus: (...args: string[]) => runImportOn(database, statusCommand, ...args),
    run: (...args: string[]) => runImportOn(database, importCommand, ...args),
    rows: (query: string) => store.rows(query),
    async stored(slug: string) {
      const [row] = store.rows(`SELECT source FROM properties WHERE slug = '${slug}'`);
      return row && source.parse(JSON.parse(String(row.source)));
    },
    /** Returns the complete catalogue as a JSON listings file. */
    exported: async () => (await exportAs('json')).toString(),
    exportedWorkbook: () => exportAs('workbook'),
    /** Returns a function that restores the current state of the database. */
    keep: () => store.keep(),
    clear() {
      for (const table of [
        'properties',
        'locations',
        'amenities',
        'import_staging',
        'operations',
        'imported_rows',
      ]) {
        store.sqlite.exec(`DELETE FROM ${table}`);
      }
    },
  };
}
