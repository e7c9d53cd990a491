/**
 * Runs a bundle in workerd. Miniflare opens a socket straight to the Worker, and runs D1, KV and the Durable Object in
 * the same process. `wrangler dev` puts two more Workers in front, which cost more time than the measured Worker.
 */

import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { readWranglerConfig, varsOf } from '../command-line/wrangler-config.ts';

const HOST = '127.0.0.1';
const WORKER = 'measured';

export type Database = Awaited<ReturnType<Miniflare['getD1Database']>>;

/** A running Worker, and its database as Node sees it. */
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
  /** The Worker's port; any free one by default. */
  port?: number;
};

/** Vars, and bindings that are plain data. */
export type Vars = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** Starts `script`. `vars` override the vars of wrangler.toml. */
export async function startRuntime(
  script: string,
  vars: Vars,
  { onLog = showFaults, texts = {}, state, port = 0 }: RuntimeOptions = {},
): Promise<Runtime> {
  const config = readWranglerConfig();
  const texted = Object.entries(texts).map(([path, contents]) => ({
    type: 'Text' as const,
    path,
    contents,
  }));
  const worker = {
    name: WORKER,
    modules: [{ type: 'ESModule' as const, path: 'worker.js', contents: script }, ...texted],
    ...(config.compatibility_date && { compatibilityDate: config.compatibility_date }),
    ...(config.compatibility_flags && { compatibilityFlags: config.compatibility_flags }),
    // The local runtime knows no jurisdictions.
    bindings: { ...Object.fromEntries(varsOf(config, undefined)), JURISDICTION: '', ...vars },
    d1Databases: ['DB'],
    kvNamespaces: ['IDEMPOTENCY'],
    durableObjects: { RATE_COUNTER: { className: 'RateCounter', useSQLite: true } },
    unsafeDirectSockets: [{ host: HOST, port }],
  };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      port: 0,
      workers: [worker],
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
