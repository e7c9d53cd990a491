/** The addresses of a Worker: its workers.dev subdomain and its custom domains. */

import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/wrangler-config.ts';
import { type Account, RejectedCall } from './account.ts';

const domain = z.object({ hostname: z.string(), service: z.string() });
const zone = z.object({ id: z.string(), name: z.string() });
const record = z.object({ type: z.string(), name: z.string(), content: z.string().optional() });
/** A record of another type, such as MX, may stand beside a custom domain. */
const ADDRESS_RECORDS = ['A', 'AAAA', 'CNAME'];

/** Throws a `UserError` for an address that the account cannot give to the Worker. */
export async function requireAddresses(account: Account, deployment: Deployment): Promise<void> {
  if (deployment.hasWorkersDev) await requireSubdomain(account);
  const { routes, worker } = deployment;
  const wanted = routes.filter((route) => route.custom_domain).map(({ pattern }) => pattern);
  if (wanted.length === 0) return;
  const domains = await account.call(z.array(domain), 'GET', '/workers/domains');
  for (const hostname of wanted) {
    const service = domains.find((each) => each.hostname === hostname)?.service;
    if (service === undefined) await requireNoRecord(account, hostname);
    else if (service !== worker) {
      // Wrangler would take the domain over.
      throw new UserError(
        `the custom domain ${hostname} leads to the Worker ${service}: take it from that Worker first, or name another one in wrangler.toml`,
      );
    }
  }
}

/** Wrangler would fail at the upload. */
async function requireSubdomain({ call }: Account): Promise<void> {
  try {
    await call(z.object({ subdomain: z.string() }), 'GET', '/workers/subdomain');
  } catch (error) {
    if (!(error instanceof RejectedCall && error.status === 404)) throw error;
    throw new UserError(
      'the account has no workers.dev subdomain, where the Worker would be served: choose one in the dashboard under Workers & Pages, or add a custom domain to wrangler.toml',
    );
  }
}

/** Cloudflare rejects a custom domain whose name has a record of its own (code 100117). */
async function requireNoRecord(account: Account, hostname: string): Promise<void> {
  const found = await findRecord(account, hostname).catch((error) => {
    if (error instanceof RejectedCall) return 'denied' as const;
    throw error;
  });
  if (found === 'denied') {
    console.log(`DNS records of ${hostname}: not checked, the token lacks Zone · DNS · Read`);
  } else if (found !== undefined) {
    throw new UserError(
      `the domain ${hostname} has a DNS record of something else (${found.type} ${found.content ?? ''}): delete the record first, or name another domain in wrangler.toml`,
    );
  }
}

async function findRecord({ callApi }: Account, hostname: string) {
  const labels = hostname.split('.');
  // e.g. api.feed.example.com, feed.example.com, example.com
  const names = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
  for (const name of names) {
    const zones = await callApi(z.array(zone), 'GET', `/zones?name=${name}`);
    const id = zones.find((each) => each.name === name)?.id;
    if (id === undefined) continue;
    const path = `/zones/${id}/dns_records?name=${hostname}`;
    const records = await callApi(z.array(record), 'GET', path);
    return records.find((each) => each.name === hostname && ADDRESS_RECORDS.includes(each.type));
  }
  // The token opens no zone of the domain.
  return 'denied' as const;
}
