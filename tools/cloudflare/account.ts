/** The account that a command works on, the credentials for it, and their rights. */

import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../command-line/wrangler-config.ts';
import { CloudflareApi } from './api.ts';
import { runWrangler } from './wrangler.ts';

/** The API, and the account in it. */
export type Account = {
  api: CloudflareApi;
  id: string;
  /** `/accounts/ID`. */
  path: string;
  /** The environment variables with which wrangler works on the same account. */
  environment: Record<string, string>;
};

/** An id that no resource has: a request with it changes nothing. */
export const UNUSED_ID = '00000000-0000-0000-0000-000000000000';

type Right = 'd1' | 'kv' | 'workers';

/** The rights that a command may need: the name in the dashboard, and a request that needs it. */
const RIGHTS: Record<Right, { name: string; method: string; path: string; body?: object }> = {
  d1: {
    name: 'Account · D1 · Edit',
    method: 'POST',
    path: `/d1/database/${UNUSED_ID}/query`,
    body: { sql: 'SELECT 1' },
  },
  kv: {
    name: 'Account · Workers KV Storage · Edit',
    method: 'DELETE',
    path: `/storage/kv/namespaces/${UNUSED_ID.replaceAll('-', '')}`,
  },
  workers: {
    name: 'Account · Workers Scripts · Edit',
    method: 'POST',
    path: `/workers/scripts/no-such-worker-${UNUSED_ID.slice(0, 8)}/deployments`,
    body: { strategy: 'percentage', versions: [] },
  },
};

/** Opens the configured account, or the only one. Throws a `UserError` for missing rights. */
export async function openAccount(
  deployment: Deployment,
  rights: readonly Right[] = [],
): Promise<Account> {
  const token = process.env.CLOUDFLARE_API_TOKEN || (await findLogin());
  const api = new CloudflareApi(token);
  const id = process.env.CLOUDFLARE_ACCOUNT_ID || deployment.accountId || (await onlyAccount(api));
  const environment = { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: id };
  const path = `/accounts/${id}`;
  const missing: string[] = [];
  for (const right of rights) {
    const { name, method, path: below, body } = RIGHTS[right];
    if (!(await api.allows(method, `${path}${below}`, body))) missing.push(`"${name}"`);
  }
  if (missing.length === 0) return { api, id, path, environment };
  const list = missing.join(', ');
  throw new UserError(
    missing.length === rights.length
      ? `the credentials are not accepted, or lack the permissions ${list}`
      : `the token lacks the permission${missing.length > 1 ? 's' : ''} ${list}`,
  );
}

/** Returns the token of wrangler's login. */
async function findLogin(): Promise<string> {
  const { output } = await runWrangler(['auth', 'token', '--json']);
  const [, token] = /"token":\s*"([^"]+)"/.exec(output) ?? [];
  if (token !== undefined) return token;
  throw new UserError(
    'there are no credentials for Cloudflare: set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`',
  );
}

async function onlyAccount(api: CloudflareApi): Promise<string> {
  if (!(await api.allows('GET', '/accounts'))) {
    throw new UserError('Cloudflare does not accept the credentials');
  }
  const accounts = await api.list(z.looseObject({ id: z.string() }), '/accounts');
  const [first, second] = accounts;
  if (first !== undefined && second === undefined) return first.id;
  const found = first === undefined ? 'show no account' : 'open several accounts';
  throw new UserError(`the credentials ${found}: set CLOUDFLARE_ACCOUNT_ID`);
}
