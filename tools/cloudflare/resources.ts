/** Finds and creates the database and the KV namespace of a deployment. */

import * as z from 'zod';
import { MAX_DATABASE_BYTES } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/deployment.ts';
import type { Account } from './account.ts';

const DATABASES = '/d1/database';
const NAMESPACES = '/storage/kv/namespaces';
/** An account has at most 1,000 namespaces, so one page lists them all. */
const NAMESPACES_PER_PAGE = 1_000;
const REPORTED_SHARE = 0.7;

/**
 * A D1 database:
 * https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/get
 */
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
  // The search also matches longer names, and its results contain neither sizes nor replicas.
  const path = `${DATABASES}?name=${encodeURIComponent(name)}`;
  const candidates = await call(z.array(database), 'GET', path);
  const match = candidates.find((candidate) => candidate.name === name);
  return match && call(database, 'GET', `${DATABASES}/${match.uuid}`);
}

/**
 * The database and namespace of a deployment. Each is undefined if the account does not have it.
 */
export type ExistingResources = Awaited<ReturnType<typeof findResources>>;

/**
 * Finds the database and namespace of a deployment. Throws a `UserError` if the database is in a
 * different jurisdiction, or if another Worker uses the deployment's custom domain.
 */
export async function findResources(account: Account, deployment: Deployment) {
  const { databaseName, namespaceTitle } = deployment;
  const existingDatabase = await findDatabase(account, databaseName);
  const path = `${NAMESPACES}?per_page=${NAMESPACES_PER_PAGE}`;
  const namespaces = await account.call(z.array(namespace), 'GET', path);
  if (existingDatabase !== undefined) requireJurisdiction(existingDatabase, deployment);
  await requireFreeDomains(account, deployment);
  return {
    database: existingDatabase,
    namespace: namespaces.find(({ title }) => title === namespaceTitle),
  };
}

function requireJurisdiction(
  { name, jurisdiction }: Database,
  { jurisdiction: configured }: Deployment,
): void {
  const actual = jurisdiction ?? '';
  if (actual === configured) return;
  throw new UserError(
    `the database ${name} is in ${actual === '' ? 'no jurisdiction' : `the jurisdiction ${actual}`}, but JURISDICTION in wrangler.toml is ${configured || 'empty'}. A database cannot be moved. See "Where the data is kept" in docs/operate/runbook.md`,
  );
}

/**
 * Throws a `UserError` if another Worker uses one of the deployment's custom domains, because
 * wrangler would take the domain away from that Worker.
 */
async function requireFreeDomains({ call }: Account, { routes, worker }: Deployment) {
  const hostnames = routes.filter((route) => route.custom_domain).map(({ pattern }) => pattern);
  if (hostnames.length === 0) return;
  for (const { hostname, service } of await call(z.array(domain), 'GET', '/workers/domains')) {
    if (!hostnames.includes(hostname) || service === worker) continue;
    throw new UserError(
      `the custom domain ${hostname} belongs to the Worker ${service}. Remove it from that Worker, or use another domain in wrangler.toml`,
    );
  }
}

/**
 * Creates the database and the namespace unless they exist. `location` is a hint for the database,
 * such as `weur`.
 */
export async function createMissing(
  { call }: Account,
  { databaseName: name, namespaceTitle: title, jurisdiction }: Deployment,
  existing: ExistingResources,
  location: string | undefined,
) {
  const region = { jurisdiction: jurisdiction || undefined };
  const newDatabase = { name, ...region, primary_location_hint: location };
  const newNamespace = { title, ...region };
  return {
    database: existing.database ?? (await call(database, 'POST', DATABASES, newDatabase)),
    namespace: existing.namespace ?? (await call(namespace, 'POST', NAMESPACES, newNamespace)),
  };
}

/** Prints a warning if a database is at least 70 % full. */
export function reportFullness({ name, file_size }: Database): void {
  const share = file_size / MAX_DATABASE_BYTES;
  if (share < REPORTED_SHARE) return;
  console.log(
    `The database ${name} uses ${Math.round(share * 100)} % of its 10 GB. See "When the database fills up" in docs/operate/runbook.md.`,
  );
}

export async function getCurrentBookmark({ call }: Account, { uuid }: Database): Promise<string> {
  const path = `${DATABASES}/${uuid}/time_travel/bookmark`;
  return (await call(z.object({ bookmark: z.string() }), 'GET', path)).bookmark;
}

/** Enables read replicas, which is not possible in the call that creates a database. */
export async function enableReplicas({ call }: Account, { uuid, read_replication }: Database) {
  if (read_replication?.mode === 'auto') return;
  await call(z.unknown(), 'PUT', `${DATABASES}/${uuid}`, { read_replication: { mode: 'auto' } });
}
