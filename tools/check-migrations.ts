/**
 * Checks that the migrations make the schema of the `table.ts` files, and that no migration loses data.
 *
 * drizzle-kit runs on a copy of the migrations: a migration that it still generates is missing.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { faultsOfMigration } from './database/migration-rules.ts';

const MIGRATIONS = 'migrations';

const faults = [...destructiveMigrations(), ...missingMigrations()];
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);

function destructiveMigrations(): string[] {
  return sqlFiles(MIGRATIONS).flatMap((name) =>
    faultsOfMigration(readFileSync(join(MIGRATIONS, name), 'utf8')).map(
      (fault) => `${name} ${fault}. Add the new beside the old instead.`,
    ),
  );
}

/** drizzle-kit writes into folders inside the project only, so the copy is beside the original. */
function missingMigrations(): string[] {
  const copy = mkdtempSync('.migrations-check-');
  try {
    cpSync(MIGRATIONS, copy, { recursive: true });
    const { status, stdout, stderr } = spawnSync(
      'drizzle-kit',
      ['generate', '--dialect', 'sqlite', '--schema', './src/*/table.ts', '--out', copy],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    if (status !== 0) return [`drizzle-kit failed:\n${stdout}${stderr}`];
    const known = new Set(sqlFiles(MIGRATIONS));
    return sqlFiles(copy)
      .filter((name) => !known.has(name))
      .map(
        (name) =>
          `The schema is ahead of the migrations. Run npm run migration. Missing:\n${readFileSync(join(copy, name), 'utf8')}`,
      );
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function sqlFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.sql'));
}
