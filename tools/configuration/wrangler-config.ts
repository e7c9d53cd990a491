/** What wrangler.toml says of the Worker and of its resources. */

import * as z from 'zod';
import { faultsOf } from '../../src/config.ts';
import { readWranglerToml } from '../command-line/environment.ts';
import { DATABASE_BINDING, PROJECT_DIRECTORY } from '../command-line/project.ts';
import { UserError } from '../command-line/user-error.ts';

const NAMESPACE_BINDING = 'IDEMPOTENCY';

const text = z.string().optional();

/** A pattern or a custom domain that leads visitors to the Worker. */
const route = z.looseObject({
  pattern: z.string(),
  custom_domain: z.boolean().optional(),
});
const routeOrPattern = z.union([z.string(), route]);
const database = z.looseObject({ binding: z.string(), database_name: text, database_id: text });
const namespace = z.looseObject({ binding: z.string(), id: text });

const deployment = z.looseObject({
  name: text,
  account_id: text,
  route: routeOrPattern.optional(),
  routes: z.array(routeOrPattern).optional(),
  vars: z.record(z.string(), z.unknown()).default({}),
  d1_databases: z.array(database).default([]),
  kv_namespaces: z.array(namespace).default([]),
});

const wranglerConfig = deployment.extend({
  main: text,
  compatibility_date: z.string(),
  env: z.record(z.string(), deployment).default({}),
});

export type WranglerConfig = z.infer<typeof wranglerConfig>;
type Route = z.infer<typeof route>;

export type Deployment = ReturnType<typeof loadDeployment>;
export type Ids = { database: { id: string }; namespaceId: string };

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

/** Rejects vars that the Worker rejects, and names of another environment. */
export function loadValidDeployment(
  environment: string | undefined,
  directory = PROJECT_DIRECTORY,
): Deployment {
  const config = readWranglerConfig(directory);
  requireOwnResources(config, environment);
  const faults = faultsOf(getOwn(config, environment).vars);
  if (faults.length === 0) return loadDeployment(environment, directory);
  const table = environment === undefined ? '[vars]' : `[env.${environment}.vars]`;
  throw new UserError(`${table} of wrangler.toml: ${faults.join('; ')}`);
}

/** As `loadValidDeployment`, but checks the names only. */
export function loadDeployment(environment: string | undefined, directory = PROJECT_DIRECTORY) {
  const config = readWranglerConfig(directory);
  const { name, d1_databases, kv_namespaces, ...own } = getOwn(config, environment);
  const databaseName = d1_databases.find(isDatabase)?.database_name;
  if (name === undefined || databaseName === undefined || !kv_namespaces.some(isNamespace)) {
    const table = environment === undefined ? '' : `[env.${environment}] of `;
    throw new UserError(
      `${table}wrangler.toml lacks a name, a D1 database ${DATABASE_BINDING} with a database_name, or a KV namespace ${NAMESPACE_BINDING}`,
    );
  }
  return {
    directory,
    environment,
    worker: name,
    databaseName,
    // The title that wrangler gives to a namespace that it makes.
    namespaceTitle: `${name}-${NAMESPACE_BINDING.toLowerCase()}`,
    accountId: own.account_id ?? config.account_id,
    routes: resolveRoutes(config, environment),
    jurisdiction: resolveVars(config, environment).get('JURISDICTION') ?? '',
  };
}

const isDatabase = ({ binding }: { binding: string }) => binding === DATABASE_BINDING;
const isNamespace = ({ binding }: { binding: string }) => binding === NAMESPACE_BINDING;

function getOwn(config: WranglerConfig, environment: string | undefined) {
  const own = environment === undefined ? config : config.env[environment];
  if (own === undefined) throw new UserError(`wrangler.toml defines no environment ${environment}`);
  return own;
}

/** Wrangler's environments inherit the routes of the top level. */
function resolveRoutes(config: WranglerConfig, environment: string | undefined): Route[] {
  const listed = ({ route, routes }: Pick<WranglerConfig, 'route' | 'routes'>) =>
    routes ?? (route === undefined ? undefined : [route]);
  const all = listed(getOwn(config, environment)) ?? listed(config) ?? [];
  return all.map((each) => (typeof each === 'string' ? { pattern: each } : each));
}

function requireOwnResources(config: WranglerConfig, environment?: string): void {
  const own = listResources(config, environment);
  for (const other of [undefined, ...Object.keys(config.env)]) {
    if (other === environment) continue;
    const shared = listResources(config, other).find((resource) => own.includes(resource));
    if (shared === undefined) continue;
    const [one, another] = [environment ?? 'production', other ?? 'production'];
    throw new UserError(
      `${one} would share ${shared} with ${another}: give each its own in wrangler.toml (environments inherit routes: \`routes = []\` sets none)`,
    );
  }
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

/** Sets the ids of an environment's resources in its configuration. */
export function fillIds(config: WranglerConfig, environment: string | undefined, ids: Ids): void {
  const { d1_databases, kv_namespaces } = getOwn(config, environment);
  for (const each of d1_databases.filter(isDatabase)) each.database_id = ids.database.id;
  for (const each of kv_namespaces.filter(isNamespace)) each.id = ids.namespaceId;
}
