/** Runs the project's copy of wrangler. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

/**
 * Environment variables that stop wrangler from sending metrics, printing its banner and fetching
 * sample request data.
 */
export const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

/**
 * Returns environment variables for wrangler commands that do not call Cloudflare. Wrangler then
 * keeps its settings, registry and temporary files in the working copy, so the user's folders stay
 * unchanged and need not be writable. HOME is set because wrangler prefers `~/.wrangler` to
 * XDG_CONFIG_HOME.
 */
export function localEnvironment() {
  const folder = join(PROJECT_DIRECTORY, '.wrangler/own');
  mkdirSync(folder, { recursive: true });
  const folders = { HOME: folder, XDG_CONFIG_HOME: folder, TMPDIR: folder };
  return { ...WRANGLER_ENVIRONMENT, ...folders, WRANGLER_WRITE_LOGS: 'false' };
}

/** Returns the command-line arguments for running wrangler with Node. */
export function wranglerCommand(...args: string[]): string[] {
  return ['--no-warnings', createRequire(import.meta.url).resolve('wrangler'), ...args];
}

/**
 * Runs wrangler and returns its output. By default, wrangler uses the user's login. If `isShown` is
 * true, the output is also printed.
 */
export async function runWrangler(
  args: readonly string[],
  isShown = false,
  environment: Record<string, string> = WRANGLER_ENVIRONMENT,
) {
  const child = spawn(process.execPath, wranglerCommand(...args), {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...environment, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    // The output passes through this process, because wrangler would end if it wrote to a closed pipe.
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (isShown) process.stdout.write(text);
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  return { isDone: status === 0, output: output.trim() };
}
