/** The settings in wrangler.toml with which a deployment would do harm. */

import { findVarProblems, NOT_DEVELOPMENT } from '../../src/config.ts';
import { UserError } from '../command-line/user-error.ts';
import { type Deployment, formatTable, listResources } from './deployment.ts';
import { getSettings } from './wrangler-toml.ts';

/** RFC 2606 reserves these domains. */
const EXAMPLE = /^https?:\/\/(?:[^/]*\.)?example\.(?:com|net|org)(?:[:/]|$)/i;

/**
 * Rejects resources of another environment, vars that the Worker rejects, and the site of an
 * example: listings would be stored with its addresses.
 */
export function requireDeployable({ config, environment }: Deployment): void {
  const resources = listResources(config, environment);
  for (const other of [undefined, ...Object.keys(config.env)]) {
    const shared = listResources(config, other).find((resource) => resources.includes(resource));
    if (other === environment || shared === undefined) continue;
    const [one, another] = [environment ?? 'production', other ?? 'production'];
    throw new UserError(
      `${one} would share ${shared} with ${another}: give each its own in wrangler.toml (environments inherit routes: \`routes = []\` sets none)`,
    );
  }
  const { vars } = getSettings(config, environment);
  const problems = [
    ...(vars.ENVIRONMENT === 'development' ? [NOT_DEVELOPMENT] : []),
    ...findVarProblems(vars),
    ...(EXAMPLE.test(`${vars.PUBLIC_SITE_URL}`)
      ? [`PUBLIC_SITE_URL is still an example's (${vars.PUBLIC_SITE_URL}): set your own`]
      : []),
  ];
  if (problems.length === 0) return;
  throw new UserError(`${formatTable(environment)}wrangler.toml: ${problems.join('; ')}`);
}
