/** The runtime of a local database: workerd, which ends with the program that started it. */

import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

const SUPERVISED_WORKERD = join(PROJECT_DIRECTORY, 'tools', 'database', 'runtime.sh');

/**
 * Makes miniflare run workerd by runtime.sh, and keep its files in a scratch folder. The folder is removed when this
 * program has ended, even by a kill.
 */
export function superviseRuntime(): void {
  const { env } = process;
  if (env.MINIFLARE_WORKERD_PATH === SUPERVISED_WORKERD) return;
  // Programs that this program starts inherit the variables.
  env.WORKERD ??= env.MINIFLARE_WORKERD_PATH ?? workerdPath();
  env.MINIFLARE_WORKERD_PATH = SUPERVISED_WORKERD;
  const scratch = join(tmpdir(), `local-database-${process.pid}`);
  mkdirSync(scratch, { recursive: true });
  env.TMPDIR = scratch;
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
}

function workerdPath(): string {
  const miniflare = createRequire(import.meta.url).resolve('miniflare');
  return z.object({ default: z.string() }).parse(createRequire(miniflare)('workerd')).default;
}
