/** Checks the routes of a deployment before they are set. */

import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment, Route } from '../command-line/wrangler-config.ts';
import { type Account, UNUSED_ID } from './account.ts';
import { Rejected } from './api.ts';

const zone = z.looseObject({ id: z.string(), name: z.string() });
const domain = z.looseObject({ hostname: z.string(), service: z.string() });

/**
 * Throws a `UserError` if the credentials lack the right to the zone of a route, or if a custom domain leads to another
 * Worker: without a terminal, wrangler would take it over. Returns whether a custom domain is new.
 */
export async function requireRoutes(account: Account, deployment: Deployment): Promise<boolean> {
  let hasNewDomain = false;
  for (const route of deployment.routes) {
    await requireZone(account, route);
    if (!route.isCustomDomain) continue;
    const hostname = route.pattern;
    const known = await account.api.list(domain, `${account.path}/workers/domains`, { hostname });
    const existing = known.find((each) => each.hostname === hostname);
    hasNewDomain ||= existing === undefined;
    if (existing === undefined || existing.service === deployment.worker) continue;
    throw new UserError(
      `the custom domain ${hostname} leads to the Worker ${existing.service}: take it from that Worker first, or name another one in wrangler.toml`,
    );
  }
  return hasNewDomain;
}

async function requireZone({ api }: Account, { pattern, zone: named }: Route): Promise<void> {
  const host = pattern.replace(/^\*?\.?/, '').replace(/\/.*$/, '');
  const lacks = `the token lacks the permission "Zone · Workers Routes · Edit" for the zone of ${host}, or the account has no such zone`;
  try {
    const id = named.id ?? (await findZone(api, named.name ?? host));
    if (id === undefined) throw new UserError(lacks);
    // No zone has a route of this id.
    const path = `/zones/${id}/workers/routes/${UNUSED_ID.replaceAll('-', '')}`;
    await api.call(z.unknown(), 'DELETE', path);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    if (error.isForbidden) throw new UserError(lacks);
  }
}

/** Returns the id of the zone of a host: for api.example.com, the zone of this name or of example.com. */
async function findZone(api: Account['api'], host: string): Promise<string | undefined> {
  for (let name = host; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    const found = (await api.list(zone, '/zones', { name })).find((each) => each.name === name);
    if (found !== undefined) return found.id;
  }
  return undefined;
}
