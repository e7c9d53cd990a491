/** The database, the KV namespace and the custom domains of a deployment, found by their names. */

import * as z from 'zod';
import { MAX_DATABASE_BYTES } from '../../src/storage/d1.ts';
import { formatCommand } from '../command-line/environment.ts';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/wrangler-config.ts';
import type { Account } from './account.ts';

const DATABASES = '/d1/database';
const NAMESPACES = '/storage/kv/namespaces';

const listedDatabase = z.looseObject({ uuid: z.string(), name: z.string() });
const listedNamespace = z.looseObject({ id: z.string(), title: z.string() });
const listedDomain = z.looseObject({ hostname: z.string(), service: z.string() });
/** https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/get */
const database = z.looseObject({
  file_size: z.number().default(0),
  jurisdiction: z.string().nullish(),
  read_replication: z.looseObject({ mode: z.string() }).nullish(),
});

const WORRYING_SHARE = 0.7;

type Database = Awaited<ReturnType<typeof readDatabase>>;
export type Resources = { database: Database; namespaceId: string };
type Found = Awaited<ReturnType<typeof findResources>>;

async function findDatabase({ api, path }: Account, { databaseName }: Deployment) {
  const all = await api.list(listedDatabase, path + DATABASES, { name: databaseName });
  return all.find(({ name }) => name === databaseName)?.uuid;
}

async function findNamespace({ api, path }: Account, { namespaceTitle }: Deployment) {
  const all = await api.list(listedNamespace, path + NAMESPACES);
  return all.find(({ title }) => title === namespaceTitle)?.id;
}

export async function getDatabase(account: Account, deployment: Deployment): Promise<string> {
  const id = await findDatabase(account, deployment);
  if (id !== undefined) return id;
  throw new UserError(
    `the account has no D1 database ${deployment.databaseName}: run \`${formatCommand(deployment.environment, 'deploy')}\` first`,
  );
}

/** Throws a `UserError` for a database in another jurisdiction. */
export async function findResources(account: Account, deployment: Deployment) {
  const id = await findDatabase(account, deployment);
  const database = id === undefined ? undefined : await readDatabase(account, deployment, id);
  const namespaceId = await findNamespace(account, deployment);
  const missing = [
    ...(database === undefined ? [`D1 database ${deployment.databaseName}`] : []),
    ...(namespaceId === undefined ? [`KV namespace ${deployment.namespaceTitle}`] : []),
  ];
  return { database, namespaceId, missing };
}

/** Creates the missing resources. `location` is a hint such as `weur`. */
export async function createMissing(
  account: Account,
  deployment: Deployment,
  found: Found,
  location: string | undefined,
): Promise<Resources> {
  const { databaseName: name, namespaceTitle: title, jurisdiction } = deployment;
  const { api, path } = account;
  const where = jurisdiction !== '' && { jurisdiction };
  // One attempt each: the next deployment finds what a failed call has created.
  let { database, namespaceId } = found;
  if (database === undefined) {
    const body = {
      name,
      ...where,
      ...(location !== undefined && { primary_location_hint: location }),
    };
    const options = { body, attempts: 1 };
    const { uuid } = await api.call(listedDatabase, 'POST', path + DATABASES, options);
    database = await readDatabase(account, deployment, uuid);
  }
  console.log(`database ${name}: ${found.database ? 'found' : 'created'}, ${database.size}`);
  if (namespaceId === undefined) {
    const options = { body: { title, ...where }, attempts: 1 };
    namespaceId = (await api.call(listedNamespace, 'POST', path + NAMESPACES, options)).id;
  }
  console.log(`KV namespace ${title}: ${found.namespaceId ? 'found' : 'created'}`);
  return { database, namespaceId };
}

/** `size` is a sentence. Throws a `UserError` for another jurisdiction. */
async function readDatabase({ api, path }: Account, deployment: Deployment, id: string) {
  const url = `${path}${DATABASES}/${id}`;
  const { file_size, jurisdiction, read_replication } = await api.call(database, 'GET', url);
  const [actual, wanted] = [jurisdiction ?? '', deployment.jurisdiction];
  if (actual !== wanted) {
    const named = (name: string) => (name === '' ? 'no jurisdiction' : `the jurisdiction ${name}`);
    throw new UserError(
      `the database ${deployment.databaseName} is in ${named(actual)}, and JURISDICTION in wrangler.toml asks for ${named(wanted)}. A database cannot be moved: see "Where the data live" in docs/operate/runbook.md`,
    );
  }
  const share = file_size / MAX_DATABASE_BYTES;
  const advice = ': see "When the database fills up" in docs/operate/runbook.md';
  const size = `${Math.round(share * 100)} % of 10 GB${share < WORRYING_SHARE ? '' : advice}`;
  return { id, size, hasReplicas: read_replication?.mode === 'auto' };
}

/** Switches read replication on, which is not possible when a database is created. */
export async function switchReplicasOn({ api, path }: Account, { database }: Resources) {
  if (database.hasReplicas) return;
  const body = { read_replication: { mode: 'auto' } };
  try {
    await api.call(z.unknown(), 'PUT', `${path}${DATABASES}/${database.id}`, { body });
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new UserError(`read replicas cannot be switched on (--no-replicas leaves them): ${why}`);
  }
  console.log('read replicas of the database: switched on');
}

/** Returns the Time Travel bookmark of the present state. */
export async function getBookmark({ api, path }: Account, { database }: Resources) {
  const url = `${path}${DATABASES}/${database.id}/time_travel/bookmark`;
  return (await api.call(z.looseObject({ bookmark: z.string() }), 'GET', url)).bookmark;
}

/** Rejects a custom domain of another Worker, which wrangler would take over. */
export async function requireOwnDomains(account: Account, deployment: Deployment): Promise<void> {
  const domains = deployment.routes.filter(({ custom_domain }) => custom_domain);
  for (const { pattern: hostname } of domains) {
    const url = `${account.path}/workers/domains`;
    const known = await account.api.list(listedDomain, url, { hostname });
    const other = known.find((each) => each.hostname === hostname)?.service ?? deployment.worker;
    if (other === deployment.worker) continue;
    throw new UserError(
      `the custom domain ${hostname} leads to the Worker ${other}: take it from that Worker first, or name another one in wrangler.toml`,
    );
  }
}
