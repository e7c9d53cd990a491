/**
 * A stand-in of wrangler, for tests of the decisions of `deploy` and `rollback`. It leaves the
 * account in the state in which wrangler leaves it, and takes a twentieth of wrangler's time to
 * start. It bundles nothing: it uploads the main file as it is. A run with the argument in the
 * environment variable `REAL_WRANGLER_FOR` goes to the real wrangler. With `ONLY_REPORTS` it
 * uploads nothing, and leaves this text as its report.
 *
 * test/tools/deploy.test.ts proves that the real wrangler builds and uploads, also to staging.
 * test/tools/rollback.test.ts proves that it builds the code of an earlier commit, and uploads it
 * over an existing Worker, which takes it other calls than a new Worker.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { wranglerCommand } from '../../../tools/command-line/project.ts';
import type { WranglerConfig } from '../../../tools/command-line/wrangler-config.ts';

/** Makes the programs in `directory`, a copy of the project, run this stand-in as wrangler. */
export function useQuickWrangler({ directory }: { directory: string }): void {
  // Node finds the first from tools, and the second from a version that `rollback` has unpacked in
  // .wrangler.
  for (const place of ['tools', '.wrangler']) {
    const folder = join(directory, place, 'node_modules/wrangler');
    mkdirSync(folder, { recursive: true });
    symlinkSync(import.meta.filename, join(folder, 'index.js'));
  }
}

type Config = WranglerConfig & { migrations?: { tag: string }[] };

async function main(args: string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const options = { config: text, env: text, tag: text, message: text };
  const { values } = parseArgs({ args, options, strict: false });
  const all = JSON.parse(readFileSync(String(values.config), 'utf8'));
  const own: Config = { ...all, ...all.env[String(values.env)] };
  if (!args.includes('--dry-run')) await upload(own, values);
}

async function upload(own: Config, { tag, message }: Record<string, unknown>): Promise<void> {
  const { WRANGLER_OUTPUT_FILE_PATH: report = '', ONLY_REPORTS } = process.env;
  if (ONLY_REPORTS !== undefined) return writeFileSync(report, ONLY_REPORTS);
  const bindings = [
    ...Object.entries(own.vars).map(([name, text]) => ({ name, type: 'plain_text', text })),
    ...own.d1_databases.map((each) => ({ name: each.binding, type: 'd1', id: each.database_id })),
    ...own.kv_namespaces.map(({ binding, id }) => {
      return { name: binding, type: 'kv_namespace', namespace_id: id };
    }),
  ];
  const annotations = { 'workers/tag': tag, 'workers/message': message };
  const form = new FormData();
  const migrations = { new_tag: own.migrations?.at(-1)?.tag };
  form.set('metadata', JSON.stringify({ bindings, annotations, migrations }));
  form.set('index.js', readFileSync(String(own.main), 'utf8'));
  const { deployment_id } = await call('PUT', `/workers/scripts/${own.name}`, form);
  const line = { type: 'deploy', version_id: deployment_id, targets: [] };
  writeFileSync(report, JSON.stringify(line));
}

/** Calls the API of the account, and returns the result. */
async function call(method: string, path: string, body: FormData | string) {
  const { CLOUDFLARE_API_BASE_URL, CLOUDFLARE_ACCOUNT_ID } = process.env;
  const url = `${CLOUDFLARE_API_BASE_URL}/accounts/${CLOUDFLARE_ACCOUNT_ID}${path}`;
  const text = await (await fetch(url, { method, body })).text();
  const { success, result } = JSON.parse(text);
  if (!success) throw new Error(text);
  return result;
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  if (args.includes(process.env.REAL_WRANGLER_FOR ?? '')) {
    const command = wranglerCommand(...args);
    process.exitCode = spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1;
  } else await main(args);
}
