/** First-time set-up of a working copy. Each step does nothing when its work is done already. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import type { Target } from '../command-line/target.ts';
import { UserError } from '../command-line/user-error.ts';
import { createDevVars } from '../configuration/dev-vars.ts';
import { migrate } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { readListingsFile } from '../import/file.ts';
import { loadListings } from '../import/load-listings.ts';
import { ensureDevelopmentKeys } from './key-pair.ts';

const LOCAL: Target = { kind: 'local', environment: undefined };
const SAMPLES = join(PROJECT_DIRECTORY, 'tools', 'samples', 'listings.json');

export async function prepareDevelopment(): Promise<void> {
  if (createDevVars()) console.log('Created .dev.vars from .dev.vars.example.');
  await ensureDevelopmentKeys();
  if (await migrateLocal()) await loadSampleListings();
}

/** Migrates the local database. Returns whether it has no listings. */
function migrateLocal(): Promise<boolean> {
  return withDatabase(LOCAL, async (database) => {
    const applied = await migrate(database);
    if (applied.length > 0) console.log(`Migrated the local database: ${applied.join(', ')}.`);
    const any = database.prepare('SELECT EXISTS (SELECT 1 FROM properties) AS found');
    return z.int().parse(await any.first('found')) === 0;
  });
}

async function loadSampleListings(): Promise<void> {
  const file = readListingsFile(readFileSync(SAMPLES));
  const outcome = await loadListings(file, { target: LOCAL, isDryRun: false });
  if (outcome.kind === 'rejected') throw new UserError('the sample listings do not fit the store');
  console.log(`Loaded ${outcome.effect.listings.length} sample listings.`);
}
