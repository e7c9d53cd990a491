/** The database and the KV namespace of a deployment, found by their names. */

import * as z from 'zod';
import { UserError } from '../command-line/project.ts';
import type { Deployment } from '../command-line/wrangler-config.ts';
import type { Account } from './account.ts';

const database = z.looseObject({ uuid: z.string(), name: z.string() });
const namespace = z.looseObject({ id: z.string(), title: z.string() });

/** A resource, and whether it was made just now. */
export type Ensured = { id: string; isNew: boolean };

/** Returns the id of the deployment's database; undefined when the account has none of its name. */
export async function findDatabase(account: Account, { databaseName }: Deployment) {
  const path = `${account.path}/d1/database`;
  const all = await account.api.list(database, path, { name: databaseName });
  return all.find(({ name }) => name === databaseName)?.uuid;
}

/** Does the same as `findDatabase`. Throws a `UserError` when there is none. */
export async function getDatabase(account: Account, deployment: Deployment): Promise<string> {
  const id = await findDatabase(account, deployment);
  if (id !== undefined) return id;
  const option = deployment.environment === undefined ? '' : ` -- --env ${deployment.environment}`;
  throw new UserError(
    `the account has no D1 database ${deployment.databaseName}: run \`npm run deploy${option}\` first`,
  );
}

/** Finds the database, or creates it: `location` is a hint, such as `weur`. */
export function ensureDatabase(
  account: Account,
  deployment: Deployment,
  location: string | undefined,
): Promise<Ensured> {
  return ensure(
    () => findDatabase(account, deployment),
    () =>
      account.api.call(database, 'POST', `${account.path}/d1/database`, {
        body: {
          name: deployment.databaseName,
          ...(location !== undefined && { primary_location_hint: location }),
        },
        attempts: 1,
      }),
  );
}

/** Finds the KV namespace, or creates it. */
export function ensureNamespace(
  account: Account,
  { namespaceTitle }: Deployment,
): Promise<Ensured> {
  const path = `${account.path}/storage/kv/namespaces`;
  return ensure(
    async () => {
      const all = await account.api.list(namespace, path);
      return all.find(({ title }) => title === namespaceTitle)?.id;
    },
    () =>
      account.api.call(namespace, 'POST', path, { body: { title: namespaceTitle }, attempts: 1 }),
  );
}

/** An answer that says no, or none at all, may still have created it: then it is found. */
async function ensure(
  find: () => Promise<string | undefined>,
  create: () => Promise<unknown>,
): Promise<Ensured> {
  const known = await find();
  if (known !== undefined) return { id: known, isNew: false };
  let fault: unknown;
  try {
    await create();
  } catch (error) {
    fault = error;
  }
  const created = await find();
  if (created !== undefined) return { id: created, isNew: true };
  throw fault ?? new UserError('Cloudflare created it, and does not list it: try again');
}
