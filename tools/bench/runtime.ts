/** Runs production bundles in workerd, without the two Workers of `wrangler dev`. */

import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { runWrangler } from '../cloudflare/wrangler.ts';
import { readWranglerConfig, resolveVars } from '../command-line/environment.ts';

const HOST = '127.0.0.1';

export type Database = Awaited<ReturnType<Miniflare['getD1Database']>>;

export type Runtime = {
  url: URL;
  database: Database;
  stop(): Promise<void>;
};

export type LogLine = { level: string; message: string };

export type RuntimeOptions = {
  /** Called with every line that the Worker logs. By default it shows faults. */
  onLog?: (line: LogLine) => void;
  /** Text files that the script imports, by the names that it imports. */
  texts?: Readonly<Record<string, string>>;
  /** The directory of the storage; without it the storage is in memory. */
  state?: string;
};

/** Builds `main` with the settings of wrangler.toml into `folder`. Returns its script. */
export async function buildBundle(main: string, folder: string): Promise<string> {
  const { isDone, output } = await runWrangler(['deploy', main, '--dry-run', '--outdir', folder]);
  if (!isDone) throw new Error(`wrangler failed:\n${output}`);
  return readFileSync(join(folder, basename(main).replace(/ts$/, 'js')), 'utf8');
}

/** Starts `script`. `vars` override the vars of wrangler.toml. */
export async function startRuntime(
  script: string,
  vars: Readonly<Record<string, string>>,
  { onLog = showFaults, texts = {}, state }: RuntimeOptions = {},
): Promise<Runtime> {
  const config = readWranglerConfig();
  const textModules = Object.entries(texts).map(
    ([path, contents]) => ({ type: 'Text', path, contents }) as const,
  );
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: script }, ...textModules],
      compatibilityDate: config.compatibility_date,
      // The local runtime knows no jurisdictions.
      bindings: { ...Object.fromEntries(resolveVars()), JURISDICTION: '', ...vars },
      d1Databases: ['DB'],
      kvNamespaces: ['IDEMPOTENCY'],
      durableObjects: { RATE_COUNTER: { className: 'RateCounter', useSQLite: true } },
      host: HOST,
      port: 0,
      unsafeDirectSockets: [{ host: HOST, port: 0 }],
      handleStructuredLogs: onLog,
      ...(state !== undefined && { resourcePersistencePath: state }),
    }),
  );
  await miniflare.ready;
  return {
    url: await miniflare.unsafeGetDirectURL(),
    database: await miniflare.getD1Database('DB'),
    stop: () => miniflare.dispose(),
  };
}

/** Prints faults. The access log is written as in production, but not printed. */
function showFaults({ level, message }: LogLine): void {
  if (level === 'error') console.error(message);
}
