/** Runs the project's wrangler. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

/** With these, wrangler asks nothing, reports nothing and needs no network. */
export const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

/** Returns the arguments for Node. */
export function wranglerCommand(...args: string[]): string[] {
  return ['--no-warnings', createRequire(import.meta.url).resolve('wrangler'), ...args];
}

export async function runWrangler(args: readonly string[], isShown = false) {
  const child = spawn(process.execPath, wranglerCommand(...args), {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, CI: 'true' },
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
