/**
 * wrangler.toml without the settings of an operator: with the vars of the tests, and without an
 * account.
 */

import { parse, stringify } from 'smol-toml';
import { TEST_VARS } from '../vars.ts';

/** The fields, at any depth, that name something of one account. */
const OF_AN_ACCOUNT = ['account_id', 'database_id', 'id', 'route', 'routes'];

/** Takes the text of wrangler.toml and returns the text for a scratch copy. */
export function neutralConfig(text: string): string {
  const config = withoutAccount(parse(text)) as Record<string, unknown>;
  return stringify({ ...config, vars: { ...(config.vars as object), ...TEST_VARS } });
}

function withoutAccount(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAccount);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !OF_AN_ACCOUNT.includes(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutAccount(inner)]));
}
