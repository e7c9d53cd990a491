/** Runs production bundles in workerd, without the two Workers of `wrangler dev`. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare, type V4SharedOptions } from 'miniflare';
import { runWrangler } from '../cloudflare/wrangler.ts';
import { readWranglerConfig, resolveVars } from '../command-line/environment.ts';

const HOST = '127.0.0.1';
/** Wrangler's name of a text that a bundle imports: the hash of the text, and its file's name. */
const TEXT_FILE = /^[0-9a-f]{40}-/;

export type Runtime = Awaited<ReturnType<typeof startRuntime>>;

/** Builds `main` with the settings of wrangler.toml into `folder`. Returns the path of its script. */
export async function buildBundle(main: string, folder: string): Promise<string> {
  const { isDone, output } = await runWrangler(['deploy', main, '--dry-run', '--outdir', folder]);
  if (!isDone) throw new Error(`wrangler failed:\n${output}`);
  return join(folder, basename(main).replace(/ts$/, 'js'));
}

/** Starts a bundle. `vars` override the vars of wrangler.toml. Storage is in memory by default. */
export async function startRuntime(
  script: string,
  vars: Readonly<Record<string, string>>,
  options: V4SharedOptions = {},
) {
  const config = readWranglerConfig();
  const folder = dirname(script);
  const texts = readdirSync(folder)
    .filter((name) => TEXT_FILE.test(name))
    .map(
      (name) => ({ type: 'Text', path: `./${name}`, contents: read(join(folder, name)) }) as const,
    );
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: read(script) }, ...texts],
      compatibilityDate: config.compatibility_date,
      // The local runtime knows no jurisdictions.
      bindings: { ...Object.fromEntries(resolveVars()), JURISDICTION: '', ...vars },
      d1Databases: ['DB'],
      kvNamespaces: ['IDEMPOTENCY'],
      durableObjects: { RATE_COUNTER: { className: 'RateCounter', useSQLite: true } },
      host: HOST,
      port: 0,
      unsafeDirectSockets: [{ host: HOST, port: 0 }],
      handleStructuredLogs: showFaults,
      ...options,
    }),
  );
  await miniflare.ready;
  return {
    url: await miniflare.unsafeGetDirectURL(),
    database: await miniflare.getD1Database('DB'),
    stop: () => miniflare.dispose(),
  };
}

const read = (file: string) => readFileSync(file, 'utf8');

/** Prints faults. The access log is written as in production, but not printed. */
function showFaults({ level, message }: { level: string; message: string }): void {
  if (level === 'error') console.error(message);
}
