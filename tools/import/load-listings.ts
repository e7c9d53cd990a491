/** Loads a listings file into the local or the remote database, for `import-listings` and `dev`. */

import { DatabaseSync } from 'node:sqlite';
import { publicSiteUrl } from '../../src/config.ts';
import { showProgress } from '../command-line/progress.ts';
import type { Target } from '../command-line/target.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { readVars } from '../configuration/dev-vars.ts';
import { resolveVars } from '../configuration/wrangler-toml.ts';
import { rejectUnfinished } from '../database/identity.ts';
import { wrapSqlite } from '../database/local.ts';
import { ensureTables, rejectNewer } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { readTables } from '../database/tables.ts';
import { type ImportOptions, type ImportOutcome, importListings } from './import.ts';
import type { ListingsFile } from './read/file.ts';

export type LoadOptions = Omit<ImportOptions, 'database' | 'publicSiteUrl' | 'onProgress'> & {
  target: Target;
};

export async function loadListings(
  file: ListingsFile,
  options: LoadOptions,
  open = withDatabase,
): Promise<ImportOutcome> {
  const { target, isDryRun } = options;
  const isRemote = target.kind === 'remote';
  const vars = isRemote ? resolveVars(target.environment) : readVars();
  const site = publicSiteUrl().safeParse(vars.get('PUBLIC_SITE_URL'));
  if (!site.success) throw new UserError(`PUBLIC_SITE_URL ${site.error.issues[0]?.message}`);
  return open(target, async (opened) => {
    // Before the first `npm run dev`, a dry run compares with an empty store.
    const isFresh = isDryRun && !isRemote && (await readTables(opened)).length === 0;
    const database = isFresh ? wrapSqlite(new DatabaseSync(':memory:')) : opened;
    await rejectNewer(database);
    await ensureTables(database, target, isFresh || !isDryRun);
    using progress = showProgress(process.stdout);
    const fixedOptions = { database, publicSiteUrl: site.data, onProgress: progress.update };
    return await importListings(file, { ...options, ...fixedOptions }).catch(async (error) => {
      // A restore may have dropped the tables.
      if (/no such table/.test(describeError(error))) await rejectUnfinished(database);
      throw error;
    });
  });
}
