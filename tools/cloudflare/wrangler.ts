/** Runs the project's wrangler for a command that calls Cloudflare. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';
import { withScratchFile } from '../command-line/scratch.ts';
import {
  type Deployment,
  fillIds,
  type Ids,
  readWranglerConfig,
} from '../configuration/wrangler-config.ts';

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

/** Runs wrangler for a deployment. With ids, it works on the account and shows its output. */
export async function runForDeployment(
  wrangler: typeof runWrangler,
  deployment: Deployment,
  args: readonly string[],
  { ids, environment = {} }: { ids?: Ids; environment?: Record<string, string> } = {},
): Promise<{ isDone: boolean; output: string }> {
  const config = readWranglerConfig(deployment.directory);
  if (ids !== undefined) fillIds(config, deployment.environment, ids);
  // Beside wrangler.toml, because of its relative paths.
  return withScratchFile(deployment.directory, 'wrangler.json', JSON.stringify(config), (file) =>
    wrangler([...args, '--config', file, `--env=${deployment.environment ?? ''}`], {
      environment,
      isShown: ids !== undefined,
    }),
  );
}
