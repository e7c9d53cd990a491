/** The local database of a working copy: its tables, and the sample listings where there are no others. */

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { SAMPLE_LISTINGS, UserError } from '../command-line/project.ts';
import { applyMigrations, findPendingMigrations } from '../database/migrations.ts';
import { openDatabase } from '../database/open.ts';
import { patiently } from '../database/patiently.ts';
import { readListingsFile } from '../import/file.ts';
import { loadListings } from '../import/load-listings.ts';

/** Applies the migrations that are missing, and loads the sample listings when there is no listing. */
export async function fillDatabase(): Promise<void> {
  if (await migrate()) await loadSampleListings();
}

/** Migrates the local database. Returns whether it is without listings. */
async function migrate(): Promise<boolean> {
  const { database, close } = await openDatabase('local');
  try {
    const pending = await findPendingMigrations(database);
    if (pending.length > 0) {
      applyMigrations('local');
      console.log(`Migrated the local database: ${pending.join(', ')}.`);
    }
    const any = database.prepare('SELECT EXISTS (SELECT 1 FROM properties) AS found');
    return z.int().parse(await patiently(() => any.first('found'))) === 0;
  } finally {
    await close();
  }
}

async function loadSampleListings(): Promise<void> {
  const read = readListingsFile(readFileSync(SAMPLE_LISTINGS));
  const outcome = await loadListings(read, { isRemote: false, isDryRun: false });
  if (outcome.kind === 'refused') throw new UserError('the sample listings do not fit the store');
  console.log(`Loaded ${outcome.listings.added} sample listings.`);
}
