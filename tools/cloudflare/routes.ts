/** Checks the routes of a deployment before they are set. */

import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment, Route } from '../command-line/wrangler-config.ts';
import { type Account, UNUSED_ID } from './account.ts';

const zoneItem = z.looseObject({ id: z.string(), name: z.string() });
const domain = z.looseObject({ hostname: z.string(), service: z.string() });

/** Rejects a custom domain of another Worker, which wrangler would take over. */
export async function requireRoutes(account: Account, deployment: Deployment): Promise<void> {
  for (const route of deployment.routes) {
    await requireZone(account, route);
    if (!route.custom_domain) continue;
    const hostname = route.pattern;
    const known = await account.api.list(domain, `${account.path}/workers/domains`, { hostname });
    const other = known.find((each) => each.hostname === hostname)?.service ?? deployment.worker;
    if (other === deployment.worker) continue;
    throw new UserError(
      `the custom domain ${hostname} leads to the Worker ${other}: take it from that Worker first, or name another one in wrangler.toml`,
    );
  }
}

async function requireZone({ api }: Account, route: Route): Promise<void> {
  const host = route.zone_name ?? route.pattern.replace(/^\*?\.?/, '').replace(/\/.*$/, '');
  const id = route.zone_id ?? (await findZone(api, host));
  // No zone has a route of this id.
  const path = `/zones/${id}/workers/routes/${UNUSED_ID.replaceAll('-', '')}`;
  if (id !== undefined && (await api.allows('DELETE', path))) return;
  throw new UserError(
    `the token lacks the permission "Zone · Workers Routes · Edit" for the zone of ${host}, or the account has no such zone`,
  );
}

/** Returns the id of the zone of a host, e.g. of example.com for api.example.com. */
async function findZone(api: Account['api'], host: string): Promise<string | undefined> {
  const zones = await api.list(zoneItem, '/zones');
  const ofHost = zones.filter(({ name }) => `.${host}`.endsWith(`.${name}`));
  return ofHost.sort((a, b) => b.name.length - a.name.length)[0]?.id;
}
