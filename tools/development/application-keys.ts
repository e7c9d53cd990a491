/**
 * The keys of the applications that use the service, in development: one for the marketing site and one for the booking
 * system, each with the scopes that it needs in production.
 */

import { randomBytes } from 'node:crypto';
import {
  DEVELOPMENT_PREFIX,
  type DevelopmentKey,
  developmentKeys,
  type Scope,
} from '../../src/auth/api-key.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { readDevVars, setDevVar } from './dev-vars.ts';

const VAR = 'DEV_API_KEYS';
const RANDOM_BYTES = 16;

const APPLICATIONS: readonly { name: string; scopes: Scope[] }[] = [
  { name: 'marketing-site', scopes: ['feed:read'] },
  { name: 'booking-system', scopes: ['events:write', 'events:read'] },
];

/**
 * Adds the keys to .dev.vars, which must exist, when it is for development and has no such var. Returns whether it
 * added them. Throws a `UserError` when .dev.vars cannot be written.
 */
export function ensureApplicationKeys(directory = PROJECT_DIRECTORY): boolean {
  const vars = readDevVars(directory);
  if (vars.get('ENVIRONMENT') !== 'development' || vars.has(VAR)) return false;
  const keys: DevelopmentKey[] = APPLICATIONS.map(({ name, scopes }) => ({
    name,
    scopes,
    key: `${DEVELOPMENT_PREFIX}${name}_${randomBytes(RANDOM_BYTES).toString('hex')}`,
  }));
  setDevVar(directory, VAR, keys, 'the keys of the applications');
  return true;
}

/** Returns a line for each key: its holder, its scopes and the key. Returns none outside of development. */
export function applicationKeyLines(vars: ReadonlyMap<string, string>): string[] {
  if (vars.get('ENVIRONMENT') !== 'development') return [];
  const { data: keys = [] } = developmentKeys.safeParse(vars.get(VAR));
  return keys.map(({ name, scopes, key }) => `${name} (${scopes.join(', ')}): ${key}`);
}
