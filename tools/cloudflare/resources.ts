/** The database and the KV namespace of a deployment, found by their names. */

import * as z from 'zod';
import { MAX_DATABASE_BYTES } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/project.ts';
import { commandFor, type Deployment } from '../command-line/wrangler-config.ts';
import type { Account } from './account.ts';

const listed = z.looseObject({ uuid: z.string(), name: z.string() });
const namespace = z.looseObject({ id: z.string(), title: z.string() });
/** https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/get */
const database = z.looseObject({
  file_size: z.number().default(0),
  jurisdiction: z.string().nullish(),
});

/** From this share on, `checkDatabase` names the section of the runbook. */
const WORRYING_SHARE = 0.7;

/** Returns the id of the deployment's database; undefined when the account has none of its name. */
export async function findDatabase(account: Account, { databaseName }: Deployment) {
  const path = `${account.path}/d1/database`;
  const all = await account.api.list(listed, path, { name: databaseName });
  return all.find(({ name }) => name === databaseName)?.uuid;
}

/** Returns the id of the deployment's database. Throws a `UserError` when the account has none of its name. */
export async function getDatabase(account: Account, deployment: Deployment): Promise<string> {
  const id = await findDatabase(account, deployment);
  if (id !== undefined) return id;
  throw new UserError(
    `the account has no D1 database ${deployment.databaseName}: run \`${commandFor(deployment.environment, 'deploy')}\` first`,
  );
}

/** Returns the id of the deployment's KV namespace; undefined when the account has none of its title. */
export async function findNamespace(account: Account, { namespaceTitle }: Deployment) {
  const all = await account.api.list(namespace, `${account.path}/storage/kv/namespaces`);
  return all.find(({ title }) => title === namespaceTitle)?.id;
}

/**
 * Creates the database in the deployment's jurisdiction, and returns its id. `location` is a hint, such as `weur`: D1
 * ignores it beside a jurisdiction.
 */
export function createDatabase(
  account: Account,
  deployment: Deployment,
  location: string | undefined,
): Promise<string> {
  const jurisdiction = jurisdictionOf(deployment);
  const body = {
    name: deployment.databaseName,
    ...(location !== undefined && { primary_location_hint: location }),
    ...(jurisdiction !== '' && { jurisdiction }),
  };
  return create(
    () => findDatabase(account, deployment),
    () =>
      account.api.call(z.unknown(), 'POST', `${account.path}/d1/database`, { body, attempts: 1 }),
  );
}

/** Creates the KV namespace in the deployment's jurisdiction, and returns its id. */
export function createNamespace(account: Account, deployment: Deployment): Promise<string> {
  const jurisdiction = jurisdictionOf(deployment);
  const body = { title: deployment.namespaceTitle, ...(jurisdiction !== '' && { jurisdiction }) };
  const path = `${account.path}/storage/kv/namespaces`;
  return create(
    () => findNamespace(account, deployment),
    () => account.api.call(z.unknown(), 'POST', path, { body, attempts: 1 }),
  );
}

/**
 * Returns a sentence about a database's size, with the section of the runbook for a large one. Throws a `UserError`
 * when the database is in another jurisdiction than the configured one.
 */
export async function checkDatabase(
  { api, path }: Account,
  deployment: Deployment,
  id: string,
): Promise<string> {
  const { file_size, jurisdiction } = await api.call(database, 'GET', `${path}/d1/database/${id}`);
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

/** Creates a resource. A call that failed may have created it all the same, so `find` looks for it afterwards. */
async function create(
  find: () => Promise<string | undefined>,
  ask: () => Promise<unknown>,
): Promise<string> {
  let fault: unknown;
  try {
    await ask();
  } catch (error) {
    fault = error;
  }
  const created = await find();
  if (created !== undefined) return created;
  throw (
    fault ?? new UserError('Cloudflare says that it was created, but does not list it: try again')
  );
}
