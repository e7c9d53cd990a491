/** Rejects settings in wrangler.toml that would make a deployment harmful. */

import { findVarProblems, NOT_DEVELOPMENT } from '../../src/config.ts';
import { UserError } from '../command-line/user-error.ts';
import { type Deployment, formatTable, listResources } from './deployment.ts';
import { getSettings } from './wrangler-toml.ts';

/** Matches sites on the domains that RFC 2606 reserves for examples. */
const EXAMPLE = /^https?:\/\/(?:[^/]*\.)?example\.(?:com|net|org)(?:[:/]|$)/i;

/**
 * Throws a `UserError` if the environment shares resources with another one, if the Worker would
 * reject its vars, or if PUBLIC_SITE_URL is an example. In the last case, listings would be stored
 * with URLs of the example site.
 */
export function requireDeployable({ config, environment }: Deployment): void {
  const resources = listResources(config, environment);
  for (const other of [undefined, ...Object.keys(config.env)]) {
    const shared = listResources(config, other).find((resource) => resources.includes(resource));
    if (other === environment || shared === undefined) continue;
    const [name, otherName] = [environment ?? 'production', other ?? 'production'];
    throw new UserError(
      `${name} would share ${shared} with ${otherName}. Give each environment its own in wrangler.toml (it inherits routes unless it has \`routes = []\`)`,
    );
  }
  const { vars } = getSettings(config, environment);
  const problems = [
    ...(vars.ENVIRONMENT === 'development' ? [NOT_DEVELOPMENT] : []),
    ...findVarProblems(vars),
    ...(EXAMPLE.test(`${vars.PUBLIC_SITE_URL}`)
      ? [`PUBLIC_SITE_URL must be your site, not the example ${vars.PUBLIC_SITE_URL}`]
      : []),
  ];
  if (problems.length === 0) return;
  throw new UserError(`${formatTable(environment)}wrangler.toml: ${problems.join('; ')}`);
}
