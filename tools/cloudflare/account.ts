/** The account that a command works on, and the credentials for it. */

import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/wrangler-config.ts';
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

/** Opens the configured account, or the only one. */
export async function openAccount({ accountId }: Deployment): Promise<Account> {
  const token = process.env.CLOUDFLARE_API_TOKEN || (await findLogin());
  const api = new CloudflareApi(token);
  const id = process.env.CLOUDFLARE_ACCOUNT_ID || accountId || (await findOnlyAccount(api));
  const environment = { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: id };
  return { api, id, path: `/accounts/${id}`, environment };
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

async function findOnlyAccount(api: CloudflareApi): Promise<string> {
  const [first, second] = await api.list(z.looseObject({ id: z.string() }), '/accounts');
  if (first !== undefined && second === undefined) return first.id;
  const found = first === undefined ? 'show no account' : 'open several accounts';
  throw new UserError(`the credentials ${found}: set CLOUDFLARE_ACCOUNT_ID`);
}
