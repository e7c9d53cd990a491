/** Runs `deploy` in a temporary folder, against `FakeCloudflare` and a fake wrangler. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { command } from '../../../tools/commands/deploy.ts';
import { runGit, skipWithoutGit } from '../node/git.ts';
import { runHere } from '../node/in-process.ts';
import { neutralConfig } from '../node/neutral-config.ts';
import { FakeCloudflare } from './fake-cloudflare.ts';

export const NAME = 'events-and-property-feed';
export const STAGING = `${NAME}-staging`;
/** The project's wrangler.toml with a plausible site URL, because `deploy` rejects example URLs. */
export const CONFIG = neutralConfig(readFileSync('wrangler.toml', 'utf8')).replaceAll(
  /https:\/\/(www|staging)\.example\.com/g,
  'https://www.sa-punta.test',
);
/** Returns `CONFIG` with a replaced string. */
export const set = (from: string, to: string) => CONFIG.replaceAll(from, to);

export const STAGING_ARGS = ['--env', 'staging'];
const DOMAIN = '{ pattern = "api.sa-punta.test", custom_domain = true }';
/** `CONFIG` with a custom domain for staging. */
export const WITH_DOMAIN = set('[env.staging]', `[env.staging]\nroutes = [${DOMAIN}]`);
/** The description of a `FakeCloudflare` deployment in the output of `deploy`. */
export const DEPLOYED = 'deployed by anna@example.com at 2026-11-20T10:00:00Z';

export let cloudflare: FakeCloudflare;
export let directory: string;
let failsAt: 'build' | 'upload' | undefined;

/** Creates `cloudflare` and `directory` before each test of the calling file. */
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

/** Makes the fake wrangler fail at a step. `failAt(undefined)` stops the failures. */
export const failAt = (step: typeof failsAt) => {
  failsAt = step;
};

/** Acts as wrangler: changes the fake account and returns the output that `deploy` reads. */
async function wrangler(args: readonly string[]) {
  const value = (option: string) => args[args.indexOf(option) + 1] ?? '';
  const step = args.includes('--dry-run') ? 'build' : 'upload';
  const failure = 'Could not resolve "./missing.ts"\nCurrent Version ID: none';
  if (step === failsAt) return { isDone: false, output: failure };
  if (step === 'build') return { isDone: true, output: '' };
  const config = JSON.parse(readFileSync(value('--config'), 'utf8'));
  const [, environment = ''] = args.find((arg) => arg.startsWith('--env'))?.split('=') ?? [];
  const settings = { ...config, ...config.env[environment] };
  const id = cloudflare.upload(settings.name, {
    tag: value('--tag'),
    message: value('--message'),
    bound: [settings.d1_databases[0].database_id, settings.kv_namespaces[0].id],
    script: '',
  });
  // Without routes, wrangler deploys to workers.dev by default.
  const usesWorkersDev = settings.workers_dev ?? !settings.routes?.length;
  const address = usesWorkersDev ? 'https://feed.example.workers.dev' : '';
  return { isDone: true, output: `  ${address}\nCurrent Version ID: ${id}` };
}

const run = (request: Parameters<typeof command.run>[0]) =>
  command.run(request, { directory, wrangler, healthTimeoutMs: 0 });
export const deploy = (...args: string[]) => runHere({ ...command, run }, ...args);

/** Runs `deploy`, expects success and returns the output. */
export async function expectDeployed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await deploy(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Returns a copy of everything in the account that a deployment can change. */
export function copyAccount(): unknown {
  const { databases, namespaces, workers } = cloudflare;
  const tables = databases.map((database) => database.rows('SELECT name FROM sqlite_schema'));
  return structuredClone({ tables, namespaces, workers });
}

export const git = (...args: string[]) => runGit(directory, ...args);
export const commit = (subject: string) => git('commit', '-q', '--allow-empty', '-m', subject);
/** Commits the folder to a new git repository. */
export const makeRepository = () => {
  skipWithoutGit();
  git('init', '-q');
  git('add', '-A');
  commit(`a long subject, ${'and more '.repeat(20)}`);
};

/** Deploys the second of two commits. Then changes the working copy. */
export async function deployLater(change: () => unknown): Promise<void> {
  makeRepository();
  commit('later');
  await expectDeployed(...STAGING_ARGS);
  change();
}
