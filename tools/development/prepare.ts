/** First-time set-up of a working copy. Each step does nothing when its work is done already. */

import { ensureApplicationKeys } from './application-keys.ts';
import { createDevVars } from './dev-vars.ts';
import { ensureDevelopmentKeys } from './key-pair.ts';
import { isDatabaseReady } from './local-database.ts';
import { inLocalTurn } from './local-turn.ts';

/** Sets up what is missing. Of two programs that begin at the same moment, the second finds it done. */
export function prepareDevelopment(): Promise<void> {
  return inLocalTurn(prepare);
}

/** Runs the steps in order: vars, the keys that sign tokens, those of the applications, tables, listings. */
async function prepare(): Promise<void> {
  if (createDevVars()) console.log('Created .dev.vars from .dev.vars.example.');
  await ensureDevelopmentKeys();
  ensureApplicationKeys();
  if (isDatabaseReady()) return;
  // What fills a database takes half a second to load: only the first start needs it.
  const { fillDatabase } = await import('./fill-database.ts');
  await fillDatabase();
}
