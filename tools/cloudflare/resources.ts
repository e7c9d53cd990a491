/** The database and the KV namespace of a deployment, found by their names. */

import * as z from 'zod';
import { MAX_DATABASE_BYTES } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/deployment.ts';
import type { Account } from './account.ts';

const DATABASES = '/d1/database';
const NAMESPACES = '/storage/kv/namespaces';
/** Maximum number of namespaces of an account, so one page has all of them. */
const NAMESPACES_PER_PAGE = 1_000;
const WORRYING_SHARE = 0.7;

/** https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/get */
const database = z.object({
  uuid: z.string(),
  name: z.string(),
  file_size: z.number().default(0),
  jurisdiction: z.string().nullish(),
  read_replication: z.object({ mode: z.string() }).nullish(),
});
const namespace = z.object({ id: z.string(), title: z.string() });
const domain = z.object({ hostname: z.string(), service: z.string() });

type Database = z.infer<typeof database>;

export async function findDatabase({ call }: Account, name: string): Promise<Database | undefined> {
  // The list also has databases with longer names, but neither sizes nor replicas.
  const path = `${DATABASES}?name=${encodeURIComponent(name)}`;
  const databases = await call(z.array(database), 'GET', path);
  const match = databases.find((candidate) => candidate.name === name);
  return match && call(database, 'GET', `${DATABASES}/${match.uuid}`);
}

/** Throws a `UserError` for a database elsewhere, and for a custom domain of another Worker. */
export async function findResources(account: Account, deployment: Deployment) {
  const { databaseName, namespaceTitle } = deployment;
  const found = await findDatabase(account, databaseName);
  const path = `${NAMESPACES}?per_page=${NAMESPACES_PER_PAGE}`;
  const all = await account.call(z.array(namespace), 'GET', path);
  if (found !== undefined) requireJurisdiction(found, deployment);
  await requireOwnDomains(account, deployment);
  return { database: found, namespace: all.find(({ title }) => title === namespaceTitle) };
}

function requireJurisdiction(found: Database, { databaseName, jurisdiction }: Deployment): void {
  const actual = found.jurisdiction ?? '';
  if (actual === jurisdiction) return;
  const named = (name: string) => (name === '' ? 'no jurisdiction' : `the jurisdiction ${name}`);
  throw new UserError(
    `the database ${databaseName} is in ${named(actual)}, and JURISDICTION in wrangler.toml is ${named(jurisdiction)}. A database cannot be moved: see "Where the data is kept" in docs/operate/runbook.md`,
  );
}

/** Wrangler would take a domain over. */
async function requireOwnDomains({ call }: Account, { routes, worker }: Deployment) {
  const domains = routes.filter((route) => route.custom_domain).map(({ pattern }) => pattern);
  if (domains.length === 0) return;
  for (const { hostname, service } of await call(z.array(domain), 'GET', '/workers/domains')) {
    if (!domains.includes(hostname) || service === worker) continue;
    throw new UserError(
      `the custom domain ${hostname} leads to the Worker ${service}: take it from that Worker first, or name another one in wrangler.toml`,
    );
  }
}

/** `location` is a hint such as `weur`. */
export async function createMissing(
  { call }: Account,
  { databaseName: name, namespaceTitle: title, jurisdiction }: Deployment,
  found: Awaited<ReturnType<typeof findResources>>,
  location: string | undefined,
) {
  const where = { jurisdiction: jurisdiction || undefined };
  const wanted = { name, ...where, primary_location_hint: location };
  return {
    database: found.database ?? (await call(database, 'POST', DATABASES, wanted)),
    namespace: found.namespace ?? (await call(namespace, 'POST', NAMESPACES, { title, ...where })),
  };
}

/** Prints how full the database is, if it is at least 70 % full. */
export function reportFullness({ name, file_size }: Database): void {
  const share = file_size / MAX_DATABASE_BYTES;
  if (share < WORRYING_SHARE) return;
  console.log(
    `The database ${name} has ${Math.round(share * 100)} % of 10 GB: see "When the database fills up" in docs/operate/runbook.md`,
  );
}

export async function getCurrentBookmark({ call }: Account, { uuid }: Database): Promise<string> {
  const path = `${DATABASES}/${uuid}/time_travel/bookmark`;
  return (await call(z.object({ bookmark: z.string() }), 'GET', path)).bookmark;
}

/** Switches read replicas on, which is not possible when a database is created. */
export async function switchReplicasOn({ call }: Account, { uuid, read_replication }: Database) {
  if (read_replication?.mode === 'auto') return;
  await call(z.unknown(), 'PUT', `${DATABASES}/${uuid}`, { read_replication: { mode: 'auto' } });
}
