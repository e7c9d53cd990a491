/** Runs the project's wrangler for a command that calls Cloudflare. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';
import {
  type Deployment,
  type Ids,
  readWranglerConfig,
  withIds,
} from '../command-line/wrangler-config.ts';

/** Beside wrangler.toml, because of its relative paths. Removed after each run. */
const CONFIG_FILE = join(PROJECT_DIRECTORY, `.wrangler.${process.pid}.json`);
const REPORT_FILE = join(PROJECT_DIRECTORY, `.wrangler.${process.pid}.report`);

type RunOptions = {
  /** Environment variables for wrangler. */
  environment?: Record<string, string>;
  /** Passes the output on instead of collecting it. */
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
      else output += text;
    });
  }
  const [status] = await once(child, 'close');
  return { isDone: status === 0, output: output.trim() };
}

/** Runs wrangler with a configuration that has the ids. Its report has one JSON object per line. */
export async function runForDeployment(
  deployment: Deployment,
  args: readonly string[],
  { ids, ...options }: RunOptions & { ids?: Ids } = {},
): Promise<{ isDone: boolean; output: string; report: string }> {
  const config = readWranglerConfig();
  const filled = ids === undefined ? config : withIds(config, deployment.environment, ids);
  const target = ['--config', CONFIG_FILE, `--env=${deployment.environment ?? ''}`];
  const environment = { ...options.environment, WRANGLER_OUTPUT_FILE_PATH: REPORT_FILE };
  writeFileSync(CONFIG_FILE, JSON.stringify(filled));
  writeFileSync(REPORT_FILE, '');
  try {
    const run = await runWrangler([...args, ...target], { ...options, environment });
    return { ...run, report: readFileSync(REPORT_FILE, 'utf8') };
  } finally {
    for (const file of [CONFIG_FILE, REPORT_FILE]) rmSync(file, { force: true });
  }
}
