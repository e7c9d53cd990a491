/** The local database, or one in memory, in a workerd that ends with this program. */

import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { isTransientFault } from '../../src/storage/d1.ts';
import { databaseOver } from '../cloudflare/rest-database.ts';

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

/** The `preview_database_id` of wrangler.toml, which `dev` uses. */
const LOCAL_ID = 'DB';
const SUPERVISED_WORKERD = join(import.meta.dirname, 'runtime.sh');

const BUSY_WARNING = /workerd\/util\/sqlite\.c\+\+.*SQLITE_BUSY/s;
const MAX_BUSY_MS = 60_000;
const PAUSE_MS = 50;

/** Opens the database in wrangler's state directory, or one in memory. The caller closes it. */
export async function openLocal(directory: string | undefined): Promise<OpenDatabase> {
  superviseRuntime();
  const { convertV4MiniflareOptions, Miniflare } = await import('miniflare');
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: { DB: LOCAL_ID },
      cf: false,
      // A busy call is repeated, so it needs no warning.
      handleStructuredLogs: ({ message }) => {
        if (!BUSY_WARNING.test(message)) console.error(message);
      },
      ...(directory !== undefined && { resourcePersistencePath: directory }),
    }),
  );
  const close = () => miniflare.dispose();
  try {
    return { database: retryWhileBusy(await miniflare.getD1Database('DB')), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns a database whose calls are repeated for a minute while another program has locked its file. */
export function retryWhileBusy(binding: D1Database): D1Database {
  return databaseOver(async (schema, body) => {
    const queries = 'batch' in body ? body.batch : [body];
    const startedAt = Date.now();
    for (;;) {
      try {
        const statements = queries.map(({ sql, params }) => binding.prepare(sql).bind(...params));
        return schema.parse(await binding.batch(statements));
      } catch (error) {
        if (!isTransientFault(error) || Date.now() - startedAt > MAX_BUSY_MS) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (0.5 + Math.random())));
      }
    }
  });
}

/** Makes miniflare run workerd by runtime.sh, and keep its files in a folder that is removed, even after a kill. */
function superviseRuntime(): void {
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
