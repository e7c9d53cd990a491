/** Runs the project's wrangler for a command that calls Cloudflare. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';
import { withScratchFile } from '../command-line/scratch.ts';
import { type Deployment, formatConfig, type Ids } from '../configuration/wrangler-config.ts';

type RunOptions = {
  /** Environment variables for wrangler. */
  environment?: Record<string, string>;
  /** Passes the output on, besides collecting it. */
  isShown?: boolean;
};

export async function runWrangler(
  args: readonly string[],
  { environment = {}, isShown = false }: RunOptions = {},
): Promise<{ isDone: boolean; output: string }> {
  const child = spawn(process.execPath, wranglerCommand(...args), {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, ...environment, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    // Wrangler would end if it wrote to a closed pipe itself.
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (isShown) process.stdout.write(text);
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  return { isDone: status === 0, output: output.trim() };
}

/** Runs `wrangler deploy` with a configuration that has the ids, if there are any. */
export async function runDeploy(
  wrangler: typeof runWrangler,
  deployment: Deployment,
  args: readonly string[],
  ids?: Ids,
  options?: RunOptions,
): Promise<{ isDone: boolean; output: string }> {
  const { directory, environment = '' } = deployment;
  const config = formatConfig(deployment, ids);
  // Beside wrangler.toml, because of its relative paths.
  return withScratchFile(directory, 'wrangler.json', config, (file) =>
    wrangler(['deploy', ...args, '--config', file, `--env=${environment}`], options),
  );
}
