/** What wrangler.toml says of the Worker of an environment, and of its resources. */

import { readKeySet } from '../../src/auth/jwk-set.ts';
import { findFaults, NOT_DEVELOPMENT } from '../../src/config.ts';
import { parseJson } from '../../src/http/json-text.ts';
import { getOwn, readWranglerConfig, type WranglerConfig } from '../command-line/environment.ts';
import { UserError } from '../command-line/user-error.ts';

const DATABASE_BINDING = 'DB';
const NAMESPACE_BINDING = 'IDEMPOTENCY';

export type Deployment = ReturnType<typeof loadDeployment>;

/** Throws a `UserError` for an environment that lacks a name, or the database or namespace. */
export function loadDeployment(environment: string | undefined, directory?: string) {
  const config = readWranglerConfig(directory);
  const own = getOwn(config, environment);
  const { name, d1_databases, kv_namespaces, account_id, vars } = own;
  const databaseName = d1_databases.find(isDatabase)?.database_name;
  if (name === undefined || databaseName === undefined || !kv_namespaces.some(isNamespace)) {
    throw new UserError(
      `${formatTable(environment)}wrangler.toml lacks a name, a D1 database ${DATABASE_BINDING} with a database_name, or a KV namespace ${NAMESPACE_BINDING}`,
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

/** RFC 2606 reserves these domains. */
const EXAMPLE = /^https?:\/\/(?:[^/]*\.)?example\.(?:com|net|org)(?:[:/]|$)/i;

/**
 * Rejects resources of another environment, vars that the Worker rejects, and the site of an
 * example: listings would be stored with its addresses.
 */
export function requireDeployable({ config, environment }: Deployment): void {
  const own = listResources(config, environment);
  for (const other of [undefined, ...Object.keys(config.env)]) {
    const shared = listResources(config, other).find((resource) => own.includes(resource));
    if (other === environment || shared === undefined) continue;
    const [one, another] = [environment ?? 'production', other ?? 'production'];
    throw new UserError(
      `${one} would share ${shared} with ${another}: give each its own in wrangler.toml (environments inherit routes: \`routes = []\` sets none)`,
    );
  }
  const { vars } = getOwn(config, environment);
  const faults = [
    ...(vars.ENVIRONMENT === 'development' ? [NOT_DEVELOPMENT] : []),
    ...findFaults(vars),
    ...(EXAMPLE.test(`${vars.PUBLIC_SITE_URL}`)
      ? [`PUBLIC_SITE_URL is still an example's (${vars.PUBLIC_SITE_URL}): set your own`]
      : []),
  ];
  if (faults.length === 0) return;
  throw new UserError(`${formatTable(environment)}wrangler.toml: ${faults.join('; ')}`);
}

/** Returns the configuration as JSON, with the ids of the environment's account and resources. */
export function formatConfig(
  { config, environment }: Deployment,
  accountId: string,
  { database, namespace }: { database: { uuid: string }; namespace: { id: string } },
): string {
  const filled = structuredClone(config);
  const own = getOwn(filled, environment);
  own.account_id = accountId;
  for (const each of own.d1_databases.filter(isDatabase)) each.database_id = database.uuid;
  for (const each of own.kv_namespaces.filter(isNamespace)) each.id = namespace.id;
  return JSON.stringify(filled);
}

const isDatabase = ({ binding }: { binding: string }) => binding === DATABASE_BINDING;
const isNamespace = ({ binding }: { binding: string }) => binding === NAMESPACE_BINDING;
const formatTable = (environment?: string) => (environment ? `[env.${environment}] of ` : '');

/** Wrangler's environments inherit the routes of the top level. */
function resolveRoutes(config: WranglerConfig, environment: string | undefined) {
  const own = getOwn(config, environment);
  const all = [own.routes ?? own.route ?? config.routes ?? config.route ?? []].flat();
  return all.map((each) => (typeof each === 'string' ? { pattern: each } : each));
}

/** e.g. `the database feed` */
function listResources(config: WranglerConfig, environment: string | undefined): string[] {
  const { name, d1_databases, kv_namespaces } = getOwn(config, environment);
  const named = (kind: string, ...names: (string | undefined)[]) =>
    names.filter((each) => each !== undefined).map((each) => `${kind} ${each}`);
  return [
    ...named('the Worker', name),
    ...d1_databases.flatMap((each) => named('the database', each.database_name, each.database_id)),
    ...kv_namespaces.flatMap(({ id }) => named('the namespace', id)),
    ...resolveRoutes(config, environment).map(({ pattern }) => `the route ${pattern}`),
  ];
}
