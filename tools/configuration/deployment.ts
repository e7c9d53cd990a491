/** Loads an environment's Worker, resources and routes from wrangler.toml. */

import { readKeySet } from '../../src/auth/jwk-set.ts';
import { parseJson } from '../../src/http/json-text.ts';
import { UserError } from '../command-line/user-error.ts';
import { getSettings, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts';

const DATABASE_BINDING = 'DB';
const NAMESPACE_BINDING = 'IDEMPOTENCY';

export type Deployment = ReturnType<typeof loadDeployment>;

/**
 * Loads the settings of a deployment. Throws a `UserError` if the environment has no name, database
 * or KV namespace.
 */
export function loadDeployment(environment: string | undefined, directory?: string) {
  const config = readWranglerConfig(directory);
  const settings = getSettings(config, environment);
  const { name, d1_databases, kv_namespaces, account_id, vars } = settings;
  const databaseName = d1_databases.find(isDatabase)?.database_name;
  if (name === undefined || databaseName === undefined || !kv_namespaces.some(isNamespace)) {
    throw new UserError(
      `${formatTable(environment)}wrangler.toml must have a name, a D1 database ${DATABASE_BINDING} with a database_name, and a KV namespace ${NAMESPACE_BINDING}`,
    );
  }
  return {
    config,
    environment,
    worker: name,
    databaseName,
    // The title that wrangler would choose for a new namespace.
    namespaceTitle: `${name}-${NAMESPACE_BINDING.toLowerCase()}`,
    accountId: account_id ?? config.account_id,
    routes: resolveRoutes(config, environment),
    jurisdiction: String(vars.JURISDICTION ?? ''),
    /** URL of the remote key set; empty if the service does not fetch one. */
    keySetUrl: vars.JWT_JWKS ? '' : String(vars.JWT_JWKS_URL ?? ''),
    localKeySet: readKeySet(parseJson(vars.JWT_JWKS)),
  };
}

/**
 * Returns the configuration as JSON, including the ids of the account, database and KV namespace.
 */
export function formatConfig(
  { config, environment }: Deployment,
  accountId: string,
  { database, namespace }: { database: { uuid: string }; namespace: { id: string } },
): string {
  const copy = structuredClone(config);
  const settings = getSettings(copy, environment);
  settings.account_id = accountId;
  for (const binding of settings.d1_databases.filter(isDatabase)) {
    binding.database_id = database.uuid;
  }
  for (const binding of settings.kv_namespaces.filter(isNamespace)) binding.id = namespace.id;
  return JSON.stringify(copy);
}

const isDatabase = ({ binding }: { binding: string }) => binding === DATABASE_BINDING;
const isNamespace = ({ binding }: { binding: string }) => binding === NAMESPACE_BINDING;
/**
 * Returns the first words of a message about an environment, e.g. `[env.staging] of `; empty for
 * production.
 */
export const formatTable = (environment?: string) =>
  environment ? `[env.${environment}] of ` : '';

/**
 * Returns the routes of an environment; without routes, it inherits the routes of the top level.
 */
function resolveRoutes(config: WranglerConfig, environment: string | undefined) {
  const settings = getSettings(config, environment);
  const routes = settings.routes ?? settings.route ?? config.routes ?? config.route ?? [];
  return [routes].flat().map((route) => (typeof route === 'string' ? { pattern: route } : route));
}

/**
 * Returns descriptions of the resources that environments must not share, e.g. `the database feed`.
 */
export function listResources(config: WranglerConfig, environment: string | undefined): string[] {
  const { name, d1_databases, kv_namespaces } = getSettings(config, environment);
  const describe = (kind: string, ...names: (string | undefined)[]) =>
    names.filter((value) => value !== undefined).map((value) => `${kind} ${value}`);
  return [
    ...describe('the Worker', name),
    ...d1_databases.flatMap(({ database_name, database_id }) =>
      describe('the database', database_name, database_id),
    ),
    ...kv_namespaces.flatMap(({ id }) => describe('the namespace', id)),
    ...resolveRoutes(config, environment).map(({ pattern }) => `the route ${pattern}`),
  ];
}
