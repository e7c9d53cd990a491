/** What wrangler.toml says of the Worker and of its resources. */

import * as z from 'zod';
import { findFaults } from '../../src/config.ts';
import { readWranglerToml } from '../command-line/environment.ts';
import { DATABASE_BINDING, PROJECT_DIRECTORY } from '../command-line/project.ts';
import { UserError } from '../command-line/user-error.ts';

const NAMESPACE_BINDING = 'IDEMPOTENCY';

const text = z.string().optional();

/** A pattern or a custom domain that leads visitors to the Worker. */
const route = z.union([
  z.string(),
  z.looseObject({ pattern: z.string(), custom_domain: z.boolean().optional() }),
]);
const database = z.looseObject({ binding: z.string(), database_name: text, database_id: text });
const namespace = z.looseObject({ binding: z.string(), id: text });

const deployment = z.looseObject({
  name: text,
  account_id: text,
  route: route.optional(),
  routes: z.array(route).optional(),
  vars: z.record(z.string(), z.unknown()).default({}),
  d1_databases: z.array(database).default([]),
  kv_namespaces: z.array(namespace).default([]),
});

const wranglerConfig = deployment.extend({
  compatibility_date: z.string(),
  env: z.record(z.string(), deployment).default({}),
});

export type WranglerConfig = z.infer<typeof wranglerConfig>;
export type Deployment = ReturnType<typeof loadDeployment>;
export type Ids = { databaseId: string; namespaceId: string };

export function readWranglerConfig(directory = PROJECT_DIRECTORY): WranglerConfig {
  return readWranglerToml(wranglerConfig, directory);
}

/** Returns the vars of an environment. */
export function resolveVars(
  config: WranglerConfig,
  environment?: string,
): ReadonlyMap<string, string> {
  const { vars } = getOwn(config, environment);
  const format = (value: unknown) =>
    typeof value === 'object' ? JSON.stringify(value) : String(value);
  return new Map(Object.entries(vars).map(([name, value]) => [name, format(value)]));
}

/** Throws a `UserError` for an environment that lacks a name, or the database or namespace. */
export function loadDeployment(environment: string | undefined, directory = PROJECT_DIRECTORY) {
  const config = readWranglerConfig(directory);
  const { name, d1_databases, kv_namespaces, account_id } = getOwn(config, environment);
  const databaseName = d1_databases.find(isDatabase)?.database_name;
  if (name === undefined || databaseName === undefined || !kv_namespaces.some(isNamespace)) {
    throw new UserError(
      `${formatTable(environment)}wrangler.toml lacks a name, a D1 database ${DATABASE_BINDING} with a database_name, or a KV namespace ${NAMESPACE_BINDING}`,
    );
  }
  return {
    directory,
    config,
    environment,
    worker: name,
    databaseName,
    // The title that wrangler gives to a namespace that it makes.
    namespaceTitle: `${name}-${NAMESPACE_BINDING.toLowerCase()}`,
    accountId: account_id ?? config.account_id,
    routes: resolveRoutes(config, environment),
    jurisdiction: resolveVars(config, environment).get('JURISDICTION') ?? '',
  };
}

/** Rejects resources of another environment, and vars that the Worker rejects. */
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
  const faults = findFaults(getOwn(config, environment).vars);
  if (faults.length === 0) return;
  throw new UserError(`${formatTable(environment)}wrangler.toml: ${faults.join('; ')}`);
}

/** Returns the configuration as JSON, with the ids of the environment's resources. */
export function formatConfig({ config, environment }: Deployment, ids?: Ids): string {
  const filled = structuredClone(config);
  const { d1_databases, kv_namespaces } = getOwn(filled, environment);
  if (ids !== undefined) {
    for (const each of d1_databases.filter(isDatabase)) each.database_id = ids.databaseId;
    for (const each of kv_namespaces.filter(isNamespace)) each.id = ids.namespaceId;
  }
  return JSON.stringify(filled);
}

const isDatabase = ({ binding }: { binding: string }) => binding === DATABASE_BINDING;
const isNamespace = ({ binding }: { binding: string }) => binding === NAMESPACE_BINDING;
const formatTable = (environment?: string) => (environment ? `[env.${environment}] of ` : '');

function getOwn(config: WranglerConfig, environment: string | undefined) {
  const own = environment === undefined ? config : config.env[environment];
  if (own === undefined) throw new UserError(`wrangler.toml defines no environment ${environment}`);
  return own;
}

/** Wrangler's environments inherit the routes of the top level. */
function resolveRoutes(config: WranglerConfig, environment: string | undefined) {
  const listed = ({ route, routes }: Pick<WranglerConfig, 'route' | 'routes'>) =>
    routes ?? (route === undefined ? undefined : [route]);
  const all = listed(getOwn(config, environment)) ?? listed(config) ?? [];
  return all.map((each) => (typeof each === 'string' ? { pattern: each } : each));
}

/** Returns the names of an environment's resources, e.g. `the database feed`. */
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
