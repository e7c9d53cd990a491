/**
 * `npm run -s api-key -- --name NAME --scope SCOPE... [--expires YYYY-MM-DD] [--env staging]`: makes a
 * named API key. Prints the key, which is shown this once, and the lines for wrangler.toml.
 *
 * Exits with 0 when it printed a key, 1 when wrangler.toml cannot be read, 2 when an argument was not
 * understood. It writes no file.
 */

import { createHash, randomBytes } from 'node:crypto';
import { understand } from './command-line/arguments.ts';
import { UserError } from './command-line/project.ts';
import {
  readWranglerConfig,
  requireKnownEnvironment,
  type WranglerConfig,
} from './command-line/wrangler-config.ts';
import { type KeyOptions, parseKeyOptions } from './keys/options.ts';

const USAGE =
  'usage: npm run -s api-key -- --name NAME --scope SCOPE... [--expires YYYY-MM-DD] [--env staging]';

/** Says to whoever finds a key what it belongs to: events and property feed. */
const PREFIX = 'epf';
const RANDOM_BYTES = 32;

process.exitCode = main(process.argv.slice(2));

function main(args: string[]): number {
  let config: WranglerConfig;
  try {
    config = readWranglerConfig();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(error.message);
    return 1;
  }
  requireKnownEnvironment();
  const options = understand(() => parseKeyOptions(args, config));
  if ('problem' in options) {
    console.error(`${options.problem} (${USAGE})`);
    return 2;
  }
  printKey(options);
  return 0;
}

function printKey({ name, scopes, expires, environment }: KeyOptions): void {
  const key = `${PREFIX}_${name}_${randomBytes(RANDOM_BYTES).toString('base64url')}`;
  const sha256 = createHash('sha256').update(key).digest('hex');
  const table = environment === undefined ? 'vars' : `env.${environment}.vars`;
  const lines = [
    `[[${table}.API_KEYS]]`,
    `name = "${name}"`,
    `scopes = [${scopes.map((each) => `"${each}"`).join(', ')}]`,
    `sha256 = "${sha256}"`,
    ...(expires === undefined ? [] : [`expires = "${expires}"`]),
  ];
  console.error(
    'The key, shown this once. Below it: lines for the end of wrangler.toml. Then: npm run types\n',
  );
  console.log(`${key}\n\n${lines.join('\n')}`);
}
