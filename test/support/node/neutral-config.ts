/** Replaces the operator's settings in wrangler.toml by the settings of the tests. */

import { parse, stringify } from 'smol-toml';
import { TEST_VARS } from '../vars.ts';

/** Fields, at any depth, that identify something in one account. */
const ACCOUNT_FIELDS = ['account_id', 'database_id', 'id', 'route', 'routes'];

/** Returns the text of wrangler.toml with the vars of the tests, and without an account. */
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
