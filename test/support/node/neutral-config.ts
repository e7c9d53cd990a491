/** Replaces the operator's settings in wrangler.toml with the settings of the tests. */

import { parse, stringify } from 'smol-toml';
import { TEST_VARS } from '../vars.ts';

/**
 * Names of fields that identify something in a Cloudflare account. They are removed at any depth.
 */
const ACCOUNT_FIELDS = ['account_id', 'database_id', 'id', 'route', 'routes'];

/** Returns the text of wrangler.toml with the vars of the tests and without account ids. */
export function neutralConfig(text: string): string {
  const config = withoutAccount(parse(text)) as Record<string, unknown>;
  return stringify({ ...config, vars: { ...(config.vars as object), ...TEST_VARS } });
}

function withoutAccount(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAccount);
  if (typeof value !== 'object' || value === null) return value;
  const neutralFields = Object.entries(value).filter(([name]) => !ACCOUNT_FIELDS.includes(name));
  return Object.fromEntries(neutralFields.map(([name, inner]) => [name, withoutAccount(inner)]));
}
