/** The vars of the local service: wrangler.toml's, and over them those of .dev.vars, read as wrangler reads them. */

import { constants, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_DIRECTORY, WRANGLER_CONFIG } from '../command-line/project.ts';
import { loadWrangler } from '../database/open.ts';

const DEV_VARS = join(PROJECT_DIRECTORY, '.dev.vars');
const DEV_VARS_EXAMPLE = join(PROJECT_DIRECTORY, '.dev.vars.example');

/** Creates .dev.vars from its example unless there is one. Returns whether it did. */
export function createDevVars(): boolean {
  try {
    copyFileSync(DEV_VARS_EXAMPLE, DEV_VARS, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** The vars that the service would see: `local` under `npm run dev`, `remote` once deployed. */
export async function readVars(place: 'local' | 'remote'): Promise<Map<string, string>> {
  const { unstable_getVarsForDev, unstable_readConfig } = await loadWrangler();
  const { vars } = unstable_readConfig({ config: WRANGLER_CONFIG });
  if (place === 'remote')
    return new Map(Object.entries(vars).map(([name, value]) => [name, String(value)]));
  const isSilent = true;
  const bindings = unstable_getVarsForDev(WRANGLER_CONFIG, undefined, vars, undefined, isSilent);
  return new Map(Object.entries(bindings).map(([name, { value }]) => [name, String(value)]));
}
