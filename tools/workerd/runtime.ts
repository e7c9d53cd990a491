/** Runs production bundles in workerd for tests and the benchmark, without the proxies of `wrangler dev`. */

import { readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { convertV4MiniflareOptions, Miniflare, type V4SharedOptions } from 'miniflare';
import { localEnvironment, runWrangler } from '../cloudflare/wrangler.ts';
import { readWranglerConfig, resolveVars } from '../configuration/wrangler-toml.ts';

const HOST = '127.0.0.1';
/**
 * The file name that wrangler gives to an imported text or image, which is a hash followed by the
 * original name.
 */
const IMPORTED_FILE = /^[0-9a-f]{40}-.*?(\.png|\.webp)?$/;

export type Runtime = Awaited<ReturnType<typeof startRuntime>>;

/** Builds a bundle. Returns the path of its script. */
export async function buildBundle(main: string, folder: string): Promise<string> {
  const args = ['deploy', main, '--dry-run', '--outdir', folder];
  const { isDone, output } = await runWrangler(args, false, localEnvironment());
  if (!isDone) throw new Error(`wrangler failed:\n${output}`);
  return join(folder, basename(main).replace(/ts$/, 'js'));
}

/**
 * Serves a bundle on the loopback interface. `vars` override the vars in wrangler.toml. Data is
 * kept in memory unless `options` say otherwise.
 */
export async function startRuntime(
  script: string,
  vars: Readonly<Record<string, string>>,
  options: V4SharedOptions = {},
) {
  const config = readWranglerConfig();
  const folder = dirname(script);
  const importedModules = readdirSync(folder).flatMap((name) => {
    const [match, image] = IMPORTED_FILE.exec(name) ?? [];
    const type: 'Data' | 'Text' = image ? 'Data' : 'Text';
    return match === undefined ? [] : [{ type, path: resolve(folder, name) }];
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modulesRoot: folder,
      modules: [{ type: 'ESModule', path: resolve(script) }, ...importedModules],
      compatibilityDate: config.compatibility_date,
      // The local runtime does not support jurisdictions.
      bindings: { ...Object.fromEntries(resolveVars()), JURISDICTION: '', ...vars },
      d1Databases: ['DB'],
      kvNamespaces: ['IDEMPOTENCY'],
      durableObjects: { RATE_COUNTER: { className: 'RateCounter', useSQLite: true } },
      host: HOST,
      port: 0,
      unsafeDirectSockets: [{ host: HOST, port: 0 }],
      // The Worker writes its access log as in production, but only errors are printed here.
      handleStructuredLogs({ level, message }) {
        if (level === 'error') console.error(message);
      },
      ...options,
    }),
  );
  await miniflare.ready;
  return {
    url: await miniflare.unsafeGetDirectURL(),
    database: await miniflare.getD1Database('DB'),
    kv: () => miniflare.getKVNamespace('IDEMPOTENCY'),
    stop: () => miniflare.dispose(),
  };
}
