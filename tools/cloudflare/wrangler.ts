/** Runs the project's wrangler for a command that calls Cloudflare. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';

/** Collects the output, and passes it on if `isShown`. */
export async function runWrangler(
  args: readonly string[],
  isShown = false,
): Promise<{ isDone: boolean; output: string }> {
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
