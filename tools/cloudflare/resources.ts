/** The database and the KV namespace of a deployment, found by their names. */

import * as z from 'zod';
import { MAX_DATABASE_BYTES } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/user-error.ts';
import { commandFor, type Deployment, type Ids } from '../command-line/wrangler-config.ts';
import type { Account } from './account.ts';

const DATABASES = '/d1/database';
const NAMESPACES = '/storage/kv/namespaces';

const listedDatabase = z.looseObject({ uuid: z.string(), name: z.string() });
const listedNamespace = z.looseObject({ id: z.string(), title: z.string() });
/** https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/get */
const database = z.looseObject({
  file_size: z.number().default(0),
  jurisdiction: z.string().nullish(),
});

const WORRYING_SHARE = 0.7;

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
    `the account has no D1 database ${deployment.databaseName}: run \`${commandFor(deployment.environment, 'deploy')}\` first`,
  );
}

type Found = Awaited<ReturnType<typeof findResources>>;

/** Returns the ids of the resources, and the names of those that the account lacks. */
export async function findResources(account: Account, deployment: Deployment) {
  const databaseId = await findDatabase(account, deployment);
  const namespaceId = await findNamespace(account, deployment);
  const missing = [
    ...(databaseId === undefined ? [`D1 database ${deployment.databaseName}`] : []),
    ...(namespaceId === undefined ? [`KV namespace ${deployment.namespaceTitle}`] : []),
  ];
  return { databaseId, namespaceId, missing };
}

/** Creates the missing resources. `location` is a hint such as `weur`. */
export async function createMissing(
  account: Account,
  deployment: Deployment,
  found: Found,
  location: string | undefined,
): Promise<Ids> {
  const { databaseName: name, namespaceTitle: title } = deployment;
  const body = { name, ...(location !== undefined && { primary_location_hint: location }) };
  const databaseId =
    found.databaseId ?? (await create(account, deployment, DATABASES, body, findDatabase));
  const size = await checkDatabase(account, deployment, databaseId);
  console.log(`database ${name}: ${found.databaseId ? 'found' : 'created'}, ${size}`);
  const namespaceId =
    found.namespaceId ?? (await create(account, deployment, NAMESPACES, { title }, findNamespace));
  console.log(`KV namespace ${title}: ${found.namespaceId ? 'found' : 'created'}`);
  return { databaseId, namespaceId };
}

/** A failed call may have created the resource, so `find` looks for it afterwards. */
async function create(
  account: Account,
  deployment: Deployment,
  path: string,
  body: object,
  find: typeof findDatabase,
): Promise<string> {
  const jurisdiction = jurisdictionOf(deployment);
  const options = { body: { ...body, ...(jurisdiction !== '' && { jurisdiction }) }, attempts: 1 };
  let fault: unknown = new UserError('Cloudflare does not list what it has created: try again');
  try {
    await account.api.call(z.unknown(), 'POST', account.path + path, options);
  } catch (error) {
    fault = error;
  }
  const created = await find(account, deployment);
  if (created === undefined) throw fault;
  return created;
}

/** Returns a sentence about the database's size. Throws a `UserError` for another jurisdiction. */
async function checkDatabase({ api, path }: Account, deployment: Deployment, id: string) {
  const { file_size, jurisdiction } = await api.call(database, 'GET', `${path}${DATABASES}/${id}`);
  const [actual, wanted] = [jurisdiction ?? '', jurisdictionOf(deployment)];
  if (actual !== wanted) {
    const named = (name: string) => (name === '' ? 'no jurisdiction' : `the jurisdiction ${name}`);
    throw new UserError(
      `the database ${deployment.databaseName} is in ${named(actual)}, and JURISDICTION in wrangler.toml asks for ${named(wanted)}. A database cannot be moved: see "Where the data live" in docs/operate/runbook.md`,
    );
  }
  const share = file_size / MAX_DATABASE_BYTES;
  const size = `${Math.round(share * 100)} % of 10 GB`;
  if (share < WORRYING_SHARE) return size;
  return `${size}: see "When the database fills up" in docs/operate/runbook.md`;
}

function jurisdictionOf({ vars }: Deployment): string {
  return vars.get('JURISDICTION') ?? '';
}
