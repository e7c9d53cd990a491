/**
 * `deploy` in a scratch folder against the stand-in of Cloudflare, with a replaced wrangler.
 */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { command } from '../../../tools/commands/deploy.ts';
import { runHere } from '../node/in-process.ts';
import { neutralConfig } from '../node/neutral-config.ts';
import { FakeCloudflare } from './fake-cloudflare.ts';

export const NAME = 'events-and-property-feed';
export const STAGING = `${NAME}-staging`;
/** With an operator's own site: `deploy` rejects that of an example. */
export const CONFIG = neutralConfig(readFileSync('wrangler.toml', 'utf8')).replaceAll(
  /https:\/\/(www|staging)\.example\.com/g,
  'https://www.sa-punta.test',
);
export const set = (from: string, to: string) => CONFIG.replaceAll(from, to);

export let cloudflare: FakeCloudflare;
export let directory: string;
let failsAt: 'build' | 'upload' | undefined;

/** Makes both anew for each test of the file that calls it. */
export function useDeployer(): void {
  beforeEach(async () => {
    cloudflare = await new FakeCloudflare().start();
    directory = mkdtempSync(join(tmpdir(), 'deploy-'));
    failsAt = undefined;
    configure(CONFIG);
  });
  afterEach(() => cloudflare.stop());
}

export const configure = (config: string) =>
  writeFileSync(join(directory, 'wrangler.toml'), config);

/** The replaced wrangler fails at this step from now on. */
export const failAt = (step: typeof failsAt) => {
  failsAt = step;
};

/** Leaves the account as wrangler leaves it, and prints the line of wrangler that `deploy` reads. */
async function wrangler(args: readonly string[]) {
  const value = (option: string) => args[args.indexOf(option) + 1] ?? '';
  const step = args.includes('--dry-run') ? 'build' : 'upload';
  const failure = 'Could not resolve "./missing.ts"\nCurrent Version ID: none';
  if (step === failsAt) return { isDone: false, output: failure };
  if (step === 'build') return { isDone: true, output: '' };
  const all = JSON.parse(readFileSync(value('--config'), 'utf8'));
  const [, environment = ''] = args.find((arg) => arg.startsWith('--env'))?.split('=') ?? [];
  const own = { ...all, ...all.env[environment] };
  const id = cloudflare.upload(own.name, {
    tag: value('--tag'),
    message: value('--message'),
    bound: [own.d1_databases[0].database_id, own.kv_namespaces[0].id],
    script: '',
  });
  // As wrangler's default is.
  const address =
    (own.workers_dev ?? !own.routes?.length) ? 'https://feed.example.workers.dev' : '';
  return { isDone: true, output: `  ${address}\nCurrent Version ID: ${id}` };
}

const run = (request: Parameters<typeof command.run>[0]) =>
  command.run(request, { directory, wrangler, healthTimeoutMs: 0 });
export const deploy = (...args: string[]) => runHere({ ...command, run }, ...args);

export async function expectDeployed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await deploy(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Everything in the account that a deployment could change. */
export function contents(): unknown {
  const { databases, namespaces, workers } = cloudflare;
  const tables = databases.map((each) => each.rows('SELECT name FROM sqlite_schema'));
  return structuredClone({ tables, namespaces, workers });
}
