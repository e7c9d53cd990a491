/**
 * A bundle in workerd, on a socket of its own.
 *
 * `wrangler dev` and wrangler's test harness put two more Workers and a second workerd in front of
 * it, which at the rates measured here cost more than the Worker itself. Both are made of Miniflare,
 * which can open a socket straight to the Worker and runs D1, KV and the Durable Object locally in the
 * same process. Only this file knows Miniflare: it is pinned, and its options change with its major
 * version.
 */

import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { unstable_readConfig } from 'wrangler';

const HOST = '127.0.0.1';
const WORKER = 'measured';

/** The flags that the user has set. */
const OWN_V8_FLAGS = process.env.MINIFLARE_WORKERD_V8_FLAGS ?? '';

/** D1 as Miniflare gives it to Node. */
export type Database = Awaited<ReturnType<Miniflare['getD1Database']>>;

/** A running Worker. */
export type Runtime = {
  /** Leads straight to the Worker. */
  url: URL;
  database: Database;
  /** V8's inspector of the Worker; undefined unless `hasInspector` was set. */
  inspectorUrl: URL | undefined;
  stop(): Promise<void>;
};

/** One line of the Worker's log. */
export type LogLine = { level: string; message: string };

export type RuntimeOptions = {
  /** Called with every line that the Worker logs. Shows faults unless it is given. */
  onLog?: (line: LogLine) => void;
  /** Opens V8's inspector, which costs some speed. */
  hasInspector?: boolean;
  /** Flags for V8, separated by spaces, beside those of the environment. */
  v8Flags?: string;
};

/** Vars, and bindings that are plain data. */
export type Vars = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** Starts `script` with empty storage. `vars` are added to those of wrangler.toml. */
export async function startRuntime(
  script: string,
  vars: Vars,
  { onLog = showFaults, hasInspector = false, v8Flags = '' }: RuntimeOptions = {},
): Promise<Runtime> {
  const config = unstable_readConfig({ config: 'wrangler.toml' }, { hideWarnings: true });
  const worker = {
    name: WORKER,
    modules: true,
    script,
    ...(config.compatibility_date && { compatibilityDate: config.compatibility_date }),
    compatibilityFlags: config.compatibility_flags,
    bindings: { ...config.vars, ...vars },
    d1Databases: ['DB'],
    kvNamespaces: ['IDEMPOTENCY'],
    durableObjects: { RATE_COUNTER: { className: 'RateCounter', useSQLite: true } },
    unsafeDirectSockets: [{ host: HOST, port: 0 }],
  };
  // Miniflare takes them from the environment only.
  process.env.MINIFLARE_WORKERD_V8_FLAGS = `${OWN_V8_FLAGS} ${v8Flags}`.trim();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      port: 0,
      workers: [worker],
      handleStructuredLogs: onLog,
      ...(hasInspector && { inspectorPort: 0 }),
    }),
  );
  await miniflare.ready;
  return {
    url: await miniflare.unsafeGetDirectURL(),
    database: await miniflare.getD1Database('DB'),
    inspectorUrl: hasInspector
      ? new URL(`/core:user:${WORKER}`, await miniflare.getInspectorURL())
      : undefined,
    stop: () => miniflare.dispose(),
  };
}

/** Shows faults only. The access log is written and read as in production, but not shown. */
function showFaults({ level, message }: LogLine): void {
  if (level === 'error') console.error(message);
}
