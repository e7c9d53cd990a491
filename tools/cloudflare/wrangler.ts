/** Runs the wrangler that the project has installed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

/** Variables with which wrangler prompts for nothing, sends no metrics and needs no network. */
export const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

/**
 * Returns the environment of a wrangler that does not call Cloudflare. Wrangler then writes its
 * settings, registry and temporary files to the working copy, so the user's folders stay unchanged
 * and need not be writable. HOME is set because wrangler prefers a `~/.wrangler` to XDG_CONFIG_HOME.
 */
export function localEnvironment() {
  const folder = join(PROJECT_DIRECTORY, '.wrangler/own');
  mkdirSync(folder, { recursive: true });
  const folders = { HOME: folder, XDG_CONFIG_HOME: folder, TMPDIR: folder };
  return { ...WRANGLER_ENVIRONMENT, ...folders, WRANGLER_WRITE_LOGS: 'false' };
}

/** Returns the arguments with which Node runs wrangler. */
export function wranglerCommand(...args: string[]): string[] {
  return ['--no-warnings', createRequire(import.meta.url).resolve('wrangler'), ...args];
}

/** Runs wrangler, by default with the user's login. Returns its output, and prints it if `isShown`. */
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
    // Passed on here, because wrangler would end if it wrote to a closed pipe.
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (isShown) process.stdout.write(text);
      output += text;
    });
  }
  const [status] = await once(child, 'close');
  return { isDone: status === 0, output: output.trim() };
}
