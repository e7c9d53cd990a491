/** The Worker of an environment in wrangler.toml, with its resources and routes. */

import { readKeySet } from '../../src/auth/jwk-set.ts';
import { parseJson } from '../../src/http/json-text.ts';
import { UserError } from '../command-line/user-error.ts';
import { getSettings, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts';

const DATABASE_BINDING = 'DB';
const NAMESPACE_BINDING = 'IDEMPOTENCY';

export type Deployment = ReturnType<typeof loadDeployment>;

/** Throws a `UserError` for an environment without a name, a database or a namespace. */
export function loadDeployment(environment: string | undefined, directory?: string) {
  const config = readWranglerConfig(directory);
  const own = getSettings(config, environment);
  const { name, d1_databases, kv_namespaces, account_id, vars } = own;
  const databaseName = d1_databases.find(isDatabase)?.database_name;
  if (name === undefined || databaseName === undefined || !kv_namespaces.some(isNamespace)) {
    throw new UserError(
      `${formatTable(environment)}wrangler.toml does not have a name, a D1 database ${DATABASE_BINDING} with a database_name, or a KV namespace ${NAMESPACE_BINDING}`,
    );
  }
  return {
    config,
    environment,
    worker: name,
    databaseName,
    // Wrangler's title for a namespace that it makes.
    namespaceTitle: `${name}-${NAMESPACE_BINDING.toLowerCase()}`,
    accountId: account_id ?? config.account_id,
    routes: resolveRoutes(config, environment),
    jurisdiction: String(vars.JURISDICTION ?? ''),
    /** Empty if the service fetches no key set. */
    keySetUrl: vars.JWT_JWKS ? '' : String(vars.JWT_JWKS_URL ?? ''),
    localKeySet: readKeySet(parseJson(vars.JWT_JWKS)),
  };
}

/** Returns the configuration as JSON, with the ids of the environment's account and resources. */
export function formatConfig(
  { config, environment }: Deployment,
  accountId: string,
  { database, namespace }: { database: { uuid: string }; namespace: { id: string } },
): string {
  const filled = structuredClone(config);
  const own = getSettings(filled, environment);
  own.account_id = accountId;
  for (const each of own.d1_databases.filter(isDatabase)) each.database_id = database.uuid;
  for (const each of own.kv_namespaces.filter(isNamespace)) each.id = namespace.id;
  return JSON.stringify(filled);
}

const isDatabase = ({ binding }: { binding: string }) => binding === DATABASE_BINDING;
const isNamespace = ({ binding }: { binding: string }) => binding === NAMESPACE_BINDING;
export const formatTable = (environment?: string) =>
  environment ? `[env.${environment}] of ` : '';

/** Wrangler's environments inherit the routes of the top level. */
function resolveRoutes(config: WranglerConfig, environment: string | undefined) {
  const own = getSettings(config, environment);
  const all = [own.routes ?? own.route ?? config.routes ?? config.route ?? []].flat();
  return all.map((each) => (typeof each === 'string' ? { pattern: each } : each));
}

/** e.g. `the database feed` */
export function listResources(config: WranglerConfig, environment: string | undefined): string[] {
  const { name, d1_databases, kv_namespaces } = getSettings(config, environment);
  const named = (kind: string, ...names: (string | undefined)[]) =>
    names.filter((each) => each !== undefined).map((each) => `${kind} ${each}`);
  return [
    ...named('the Worker', name),
    ...d1_databases.flatMap((each) => named('the database', each.database_name, each.database_id)),
    ...kv_namespaces.flatMap(({ id }) => named('the namespace', id)),
    ...resolveRoutes(config, environment).map(({ pattern }) => `the route ${pattern}`),
  ];
}
