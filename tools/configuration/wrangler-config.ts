/** What wrangler.toml says of the Worker of an environment, and of its resources. */

import { findFaults, NOT_DEVELOPMENT } from '../../src/config.ts';
import {
  formatVars,
  getOwn,
  readWranglerConfig,
  type WranglerConfig,
} from '../command-line/environment.ts';
import { UserError } from '../command-line/user-error.ts';

const DATABASE_BINDING = 'DB';
const NAMESPACE_BINDING = 'IDEMPOTENCY';
/** 5 KB (developers.cloudflare.com/workers/platform/limits, as of November 2026). */
const MAX_VAR_BYTES = 5_000;

export type Deployment = ReturnType<typeof loadDeployment>;

/** Throws a `UserError` for an environment that lacks a name, or the database or namespace. */
export function loadDeployment(environment: string | undefined, directory?: string) {
  const config = readWranglerConfig(directory);
  const own = getOwn(config, environment);
  const { name, d1_databases, kv_namespaces, account_id, vars, workers_dev } = own;
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
    /** Wrangler's default. */
    hasWorkersDev:
      workers_dev ?? config.workers_dev ?? resolveRoutes(config, environment).length === 0,
    jurisdiction: String(vars.JURISDICTION ?? ''),
  };
}

/**
 * Rejects resources of another environment, a second address beside a route, and vars that the
 * Worker or Cloudflare rejects.
 */
export function requireDeployable({ config, environment, routes }: Deployment): void {
  const own = listResources(config, environment);
  for (const other of [undefined, ...Object.keys(config.env)]) {
    const shared = listResources(config, other).find((resource) => own.includes(resource));
    if (other === environment || shared === undefined) continue;
    const [one, another] = [environment ?? 'production', other ?? 'production'];
    throw new UserError(
      `${one} would share ${shared} with ${another}: give each its own in wrangler.toml (environments inherit routes: \`routes = []\` sets none)`,
    );
  }
  const { vars, workers_dev = config.workers_dev } = getOwn(config, environment);
  if (workers_dev === true && routes.length > 0) {
    throw new UserError(
      `${formatTable(environment)}wrangler.toml has workers_dev = true beside a route: workers.dev would stay open, past the rules of the zone and without the edge cache. Remove the line`,
    );
  }
  const sizes = [...formatVars(vars)].map(([name, text]) => ({
    name,
    bytes: Buffer.byteLength(text),
  }));
  const faults = [
    ...(vars.ENVIRONMENT === 'development' ? [NOT_DEVELOPMENT] : []),
    ...findFaults(vars),
    ...sizes
      .filter(({ bytes }) => bytes > MAX_VAR_BYTES)
      .map(
        ({ name, bytes }) => `${name} has ${bytes} bytes, and Cloudflare takes ${MAX_VAR_BYTES}`,
      ),
  ];
  if (faults.length === 0) return;
  throw new UserError(`${formatTable(environment)}wrangler.toml: ${faults.join('; ')}`);
}

/** RFC 2606 reserves these domains. */
const EXAMPLE = /^(?:https?:\/\/)?(?:[^/]*\.)?example\.(?:com|net|org)(?:[:/]|$)/i;

/**
 * Rejects values that are still an example's. While no key set can verify tokens, their issuer may
 * be one.
 */
export function rejectExamples({ config, environment, routes }: Deployment): void {
  const { vars } = getOwn(config, environment);
  const hasKeySet = Boolean(vars.JWT_JWKS || vars.JWT_JWKS_URL);
  const names = ['PUBLIC_SITE_URL', ...(hasKeySet ? ['JWT_ISSUER', 'JWT_JWKS_URL'] : [])];
  const values = [
    ...names.map((name) => ({ name, value: String(vars[name]) })),
    ...routes.map(({ pattern }) => ({ name: 'route', value: pattern })),
  ];
  const examples = values.filter(({ value }) => EXAMPLE.test(value));
  if (examples.length === 0) return;
  const named = examples.map(({ name, value }) => `${name} (${value})`).join(', ');
  throw new UserError(
    `${formatTable(environment)}wrangler.toml still has the example's ${named}: set your own`,
  );
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
