/** Checks that the migrations make the schema of the tables, and that none loses data. */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findMigrationFaults, migrationNames } from './database/migrations.ts';

const lossy = findMigrationFaults().map((fault) => `${fault}. Add the new beside the old instead.`);
const faults = [...lossy, ...missingMigrations()];
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);

/** drizzle-kit writes into folders inside the project only, so the copy is beside the original. */
function missingMigrations(): string[] {
  const copy = mkdtempSync('.migrations-check-');
  try {
    cpSync('migrations', copy, { recursive: true });
    const { status, stdout, stderr } = spawnSync(
      'drizzle-kit',
      ['generate', '--dialect', 'sqlite', '--schema', './src/*/table.ts', '--out', copy],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    if (status !== 0) return [`drizzle-kit failed:\n${stdout}${stderr}`];
    const known = migrationNames();
    return readdirSync(copy)
      .filter((name) => name.endsWith('.sql') && !known.includes(name))
      .map(
        (name) =>
          `The schema is ahead of the migrations. Run npm run migration. Missing:\n${readFileSync(join(copy, name), 'utf8')}`,
      );
  } finally {
    rmSync(copy, { recursive: true });
  }
}
