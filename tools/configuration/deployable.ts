/** Rejects settings in wrangler.toml with which a deployment would do harm. */

import { findVarProblems, NOT_DEVELOPMENT } from '../../src/config.ts';
import { UserError } from '../command-line/user-error.ts';
import { type Deployment, formatTable, listResources } from './deployment.ts';
import { getSettings } from './wrangler-toml.ts';

/** RFC 2606 reserves these domains. */
const EXAMPLE = /^https?:\/\/(?:[^/]*\.)?example\.(?:com|net|org)(?:[:/]|$)/i;

/**
 * Throws a `UserError` for resources of another environment, for vars that the Worker rejects, and
 * for an example as the site, because listings would be stored with URLs of the example.
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
