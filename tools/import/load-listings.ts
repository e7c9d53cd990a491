/** Loads a listings file into the local or the remote database, for `import-listings` and `dev`. */

import { publicSiteUrl } from '../../src/config.ts';
import { formatCommand } from '../command-line/environment.ts';
import { withLocalLock } from '../command-line/local-lock.ts';
import { showProgress } from '../command-line/progress.ts';
import { UserError } from '../command-line/user-error.ts';
import { readVars } from '../configuration/dev-vars.ts';
import { readWranglerConfig, resolveVars } from '../configuration/wrangler-config.ts';
import { rejectUnfinishedRestore } from '../database/identity.ts';
import type { OpenDatabase } from '../database/local.ts';
import { findPendingMigrations, migrate, migrationNames } from '../database/migrations.ts';
import { openDatabase } from '../database/open.ts';
import { importListings } from './import.ts';
import type { ImportOptions, ImportOutcome } from './plan/types.ts';
import type { ReadableFile } from './read/types.ts';

export type LoadOptions = Pick<
  ImportOptions,
  'isDryRun' | 'pruning' | 'allowEmptied' | 'saveUndo'
> & {
  isRemote: boolean;
  /** An environment of wrangler.toml, for the remote database; undefined for production. */
  environment?: string | undefined;
};

/** Imports into the database. Waits for its turn at the local one, unless it is a dry run. */
export function loadInTurn(read: ReadableFile, options: LoadOptions): Promise<ImportOutcome> {
  const load = () => loadListings(read, options);
  return options.isRemote || options.isDryRun ? load() : withLocalLock(load);
}

/** Imports into the database of `openMigrated`. The caller must have the turn. */
export async function loadListings(
  read: ReadableFile,
  options: LoadOptions,
): Promise<ImportOutcome> {
  const { isRemote, environment } = options;
  const vars = isRemote ? resolveVars(readWranglerConfig(), environment) : readVars();
  const site = publicSiteUrl().safeParse(vars.get('PUBLIC_SITE_URL'));
  if (!site.success) throw new UserError(`PUBLIC_SITE_URL ${site.error.issues[0]?.message}`);
  return loadInto(await openMigrated(options), read, site.data, options);
}

/** Imports into a database with every table, and closes it. */
export async function loadInto(
  { database, close }: OpenDatabase,
  read: ReadableFile,
  publicSiteUrl: string,
  options: LoadOptions,
): Promise<ImportOutcome> {
  const progress = showProgress(process.stdout);
  try {
    return await importListings(read, {
      ...options,
      database,
      publicSiteUrl,
      onProgress: (phase, done, total) => progress.update(`listings ${phase}`, done, total),
    });
  } finally {
    progress.end();
    // The import has its outcome by now, even if closing fails.
    await close().catch(() => undefined);
  }
}

/**
 * Import, 2: opens a database that has every table. A dry run or an export migrates nothing:
 * without tables, a database counts as empty, and an older state is rejected.
 */
export async function openMigrated(
  { isRemote, isDryRun, environment }: Pick<LoadOptions, 'isRemote' | 'isDryRun' | 'environment'>,
  openBy = openDatabase,
): Promise<OpenDatabase> {
  const open = await openBy(isRemote ? 'remote' : 'local', environment);
  try {
    await rejectUnfinishedRestore(open.database);
    const pending = await findPendingMigrations(open.database);
    if (pending.length === 0) return open;
    if (isRemote) {
      throw new UserError(
        `the remote database lacks migrations: run \`${formatCommand(environment, 'deploy')}\` first`,
      );
    }
    if (isDryRun && pending.length < migrationNames().length) {
      throw new UserError(
        'the local database lacks migrations, which a dry run does not apply: run `npm run dev` first',
      );
    }
    if (!isDryRun) {
      await migrate(open.database);
      return open;
    }
  } catch (error) {
    await open.close();
    throw error;
  }
  await open.close();
  const empty = await openBy('empty');
  await migrate(empty.database);
  return empty;
}
