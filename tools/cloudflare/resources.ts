/** The database and the KV namespace of a deployment, found by their names. */

import * as z from 'zod';
import { MAX_DATABASE_BYTES } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/user-error.ts';
import { commandFor, type Deployment } from '../command-line/wrangler-config.ts';
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

export async function findDatabase({ api, path }: Account, { databaseName }: Deployment) {
  const all = await api.list(listedDatabase, path + DATABASES, { name: databaseName });
  return all.find(({ name }) => name === databaseName)?.uuid;
}

export async function getDatabase(account: Account, deployment: Deployment): Promise<string> {
  const id = await findDatabase(account, deployment);
  if (id !== undefined) return id;
  throw new UserError(
    `the account has no D1 database ${deployment.databaseName}: run \`${commandFor(deployment.environment, 'deploy')}\` first`,
  );
}

export async function findNamespace({ api, path }: Account, { namespaceTitle }: Deployment) {
  const all = await api.list(listedNamespace, path + NAMESPACES);
  return all.find(({ title }) => title === namespaceTitle)?.id;
}

/** Returns the id of the new database. `location` is a hint, e.g. `weur`; D1 ignores it beside a jurisdiction. */
export function createDatabase(account: Account, deployment: Deployment, location?: string) {
  const hint = location === undefined ? {} : { primary_location_hint: location };
  const body = { name: deployment.databaseName, ...hint };
  return create(account, deployment, DATABASES, body, findDatabase);
}

/** Returns the id of the new KV namespace. */
export function createNamespace(account: Account, deployment: Deployment) {
  return create(
    account,
    deployment,
    NAMESPACES,
    { title: deployment.namespaceTitle },
    findNamespace,
  );
}

/** A call that failed may have created the resource all the same, so `find` looks for it afterwards. */
async function create(
  account: Account,
  deployment: Deployment,
  path: string,
  body: object,
  find: typeof findDatabase,
): Promise<string> {
  const jurisdiction = jurisdictionOf(deployment);
  const options = { body: { ...body, ...(jurisdiction !== '' && { jurisdiction }) }, attempts: 1 };
  let fault: unknown;
  try {
    await account.api.call(z.unknown(), 'POST', account.path + path, options);
  } catch (error) {
    fault = error;
  }
  const created = await find(account, deployment);
  if (created !== undefined) return created;
  throw (
    fault ?? new UserError('Cloudflare says that it was created, but does not list it: try again')
  );
}

/** Returns a sentence about a database's size. Throws a `UserError` if its jurisdiction is not the configured one. */
export async function checkDatabase(
  { api, path }: Account,
  deployment: Deployment,
  id: string,
): Promise<string> {
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
  return share < WORRYING_SHARE
    ? size
    : `${size}: see "When the database fills up" in docs/operate/runbook.md`;
}

function jurisdictionOf({ vars }: Deployment): string {
  return vars.get('JURISDICTION') ?? '';
}
