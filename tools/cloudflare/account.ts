/** The account that a command works on, and the rights of the credentials in it. */

import * as z from 'zod';
import { UserError } from '../command-line/project.ts';
import type { Deployment } from '../command-line/wrangler-config.ts';
import { CloudflareApi, Refused } from './api.ts';
import { findToken } from './credentials.ts';

/** The API, and the account in it. */
export type Account = {
  api: CloudflareApi;
  id: string;
  /** `/accounts/ID`. */
  path: string;
  /** The environment variables with which wrangler works on the same account. */
  environment: Record<string, string>;
};

/** The rights that a command may need, as Cloudflare's dashboard names them. */
const RIGHTS = {
  d1: 'Account · D1 · Edit',
  kv: 'Account · Workers KV Storage · Edit',
  workers: 'Account · Workers Scripts · Edit',
} as const;

export type Right = keyof typeof RIGHTS;

/** An id that no resource has, so that a request with it changes nothing. */
export const UNUSED_ID = '00000000-0000-0000-0000-000000000000';

/** Right → a request that needs it, and that names a resource which does not exist. */
const PROBES: Record<Right, { method: string; path: string; body?: unknown }> = {
  d1: { method: 'POST', path: `/d1/database/${UNUSED_ID}/query`, body: { sql: 'SELECT 1' } },
  kv: { method: 'DELETE', path: `/storage/kv/namespaces/${UNUSED_ID.replaceAll('-', '')}` },
  workers: {
    method: 'POST',
    path: `/workers/scripts/no-such-worker-${UNUSED_ID.slice(0, 8)}/deployments`,
    body: { strategy: 'percentage', versions: [] },
  },
};

/**
 * Returns the account of `CLOUDFLARE_ACCOUNT_ID`, of wrangler.toml, or the only one that the credentials open. Throws a
 * `UserError` without credentials, or when the choice is not clear.
 */
export async function openAccount(deployment: Deployment): Promise<Account> {
  const token = findToken();
  const api = new CloudflareApi(token);
  const id = process.env.CLOUDFLARE_ACCOUNT_ID || deployment.accountId || (await onlyAccount(api));
  return {
    api,
    id,
    path: `/accounts/${id}`,
    environment: { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: id },
  };
}

/** Throws a `UserError` that names every right which the credentials lack. Changes nothing. */
export async function requireRights(
  { api, path }: Account,
  rights: readonly Right[],
): Promise<void> {
  const missing: string[] = [];
  for (const right of rights) {
    const { method, path: probe, body } = PROBES[right];
    try {
      await api.call(z.unknown(), method, `${path}${probe}`, body === undefined ? {} : { body });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.isForbidden) missing.push(RIGHTS[right]);
    }
  }
  if (missing.length === 0) return;
  const list = missing.map((name) => `"${name}"`).join(', ');
  throw new UserError(
    missing.length === rights.length
      ? `the credentials are not accepted, or lack the permissions ${list}`
      : `the token lacks the permission${missing.length > 1 ? 's' : ''} ${list}`,
  );
}

async function onlyAccount(api: CloudflareApi): Promise<string> {
  let accounts: { id: string }[];
  try {
    accounts = await api.list(z.looseObject({ id: z.string() }), '/accounts');
  } catch (error) {
    if (!(error instanceof Refused && error.isForbidden)) throw error;
    throw new UserError(`Cloudflare does not accept the credentials: ${error.message}`);
  }
  const [first, ...others] = accounts;
  if (first !== undefined && others.length === 0) return first.id;
  throw new UserError(
    first === undefined
      ? 'the credentials show no account: set CLOUDFLARE_ACCOUNT_ID'
      : 'the credentials open several accounts: set CLOUDFLARE_ACCOUNT_ID',
  );
}
