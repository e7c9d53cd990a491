/**
 * `npm run rollback [-- --to TAG] [--env staging]`: deploys the code of an earlier version again, with today's secrets
 * and vars. Without `--to` it takes the version before the one that serves.
 *
 * The code is built anew from its commit, and becomes a new version: docs/operate/runbook.md says why. Exits with 0 when this
 * version serves, 1 when the same version serves as before, 2 when it was deployed and a later step failed.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openAccount, requireRights } from './cloudflare/account.ts';
import { AfterDeployment, EXIT, release } from './cloudflare/release.ts';
import { findDatabase, findNamespace } from './cloudflare/resources.ts';
import { requireRoutes } from './cloudflare/routes.ts';
import { findServed, listVersions, type Version } from './cloudflare/versions.ts';
import { wranglerFor } from './cloudflare/wrangler.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { archiveCommit, findCommit } from './command-line/git.ts';
import { MIGRATIONS_DIRECTORY, PROJECT_DIRECTORY, UserError } from './command-line/project.ts';
import {
  chosenEnvironment,
  commandFor,
  soundDeploymentOf,
} from './command-line/wrangler-config.ts';

const USAGE = `Usage: npm run rollback [-- [--to TAG] [--env NAME]]

  --to TAG    the tag of the version to go back to, instead of the one before
  --env NAME  an environment of wrangler.toml, such as staging, instead of production`;

/** Inside the project, so that the code finds its packages. Git ignores the folder. */
const FOLDER = join(PROJECT_DIRECTORY, '.wrangler');

type Request = { to: string | undefined; environment: string | undefined };
type Tagged = Version & { tag: string };

/** `npm run rollback`. */
export const command: Command<Request> = {
  usage: USAGE,
  invalidArguments: EXIT.notDeployed,
  parse: parseRequest,
  run,
};

if (import.meta.main) await runCommand(command);

function parseRequest(args: string[]): Request {
  const options = { to: { type: 'string' }, env: { type: 'string' } } as const;
  const { to, env } = readArguments('rollback', args, options).values;
  if (to === '') throw new UserError('--to needs the tag of a version');
  return { to, environment: chosenEnvironment(env) };
}

async function run(request: Request): Promise<number> {
  const title = request.environment ?? 'production';
  try {
    await rollBack(request);
    return EXIT.served;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    if (error instanceof AfterDeployment) {
      console.error(`Rolled back in ${title}, but: ${error.message}.`);
      return EXIT.deployedWithFault;
    }
    console.error(`Not rolled back in ${title}: ${error.message}. Nothing has changed.`);
    return EXIT.notDeployed;
  }
}

async function rollBack({ to, environment }: Request): Promise<void> {
  const deployment = soundDeploymentOf(environment);
  const account = await openAccount(deployment);
  await requireRights(account, ['workers', 'd1', 'kv']);
  const hasNewDomain = await requireRoutes(account, deployment);
  const { worker } = deployment;
  const served = await findServed(account, worker);
  if (served === undefined) throw new UserError(`the account has no Worker ${worker}`);
  const versions = await listVersions(account, worker);
  const current = tagAt(versions, served);
  console.log(tableOf(worker, versions, served));
  const target = targetOf(versions, current, to, environment);
  const commit = findCommit(target.tag);
  if (commit === undefined) {
    throw new UserError(
      `this clone has no commit ${target.tag}: fetch it, or go back to a version that was deployed from a commit`,
    );
  }
  const databaseId = await findDatabase(account, deployment);
  const namespaceId = await findNamespace(account, deployment);
  if (databaseId === undefined || namespaceId === undefined) {
    const missing = databaseId === undefined ? deployment.databaseName : deployment.namespaceTitle;
    throw new UserError(`the account has no ${missing}, which wrangler.toml names`);
  }

  mkdirSync(FOLDER, { recursive: true });
  const source = mkdtempSync(join(FOLDER, 'rollback-'));
  const remote = { ids: { databaseId, namespaceId }, environment: account.environment };
  const wrangler = wranglerFor(deployment, remote, source);
  try {
    archiveCommit(target.tag, source);
    await installPackages(source);
    const back = { id: target.tag, subject: `back to ${commit}`.slice(0, 100) };
    const all = { account, deployment, wrangler, commit: back, hasNewDomain };
    console.log(`\nServed now: ${await release(all)}`);
    console.log("Keys and vars are today's.");
    console.log(schemaLine(source));
  } finally {
    wrangler.remove();
    rmSync(source, { recursive: true, force: true });
  }
}

/** Returns the tag of a version's code. A changed secret makes a version without a tag, with the code of the one before. */
function tagAt(versions: readonly Version[], id: string): string | undefined {
  const index = versions.findIndex((version) => version.id === id);
  return versions.slice(0, index + 1).findLast(({ tag }) => tag !== undefined)?.tag;
}

function targetOf(
  versions: readonly Version[],
  current: string | undefined,
  to: string | undefined,
  environment: string | undefined,
): Tagged {
  const tagged = versions.filter((version): version is Tagged => version.tag !== undefined);
  if (to === undefined) {
    // Code counts where it was first uploaded, so that a second rollback goes further back.
    const first = tagged.findIndex(({ tag }) => tag === current);
    const before = tagged.slice(0, Math.max(0, first)).at(-1);
    if (before !== undefined) return before;
    throw new UserError(
      `no version before the one that serves is known: choose one by \`${commandFor(environment, 'rollback', '--to', 'TAG')}\``,
    );
  }
  const target = tagged.findLast(({ tag }) => tag === to);
  if (target === undefined) throw new UserError(`no version has the tag ${to}`);
  if (to === current) throw new UserError(`the code of ${to} serves already`);
  return target;
}

function tableOf(worker: string, versions: readonly Version[], served: string): string {
  const lines = versions.map(({ id, createdAt, tag = 'a changed secret', message }) =>
    [id === served ? '→' : ' ', createdAt, tag, message].join('  ').trimEnd(),
  );
  return [`Versions of ${worker}, the latest last; → serves:`, ...lines].join('\n');
}

/**
 * Installs the packages of the commit if its lockfile differs. Else the code uses the packages of the working copy.
 * npm runs asynchronously: a program that blocks for a minute finds its connections to Cloudflare closed.
 */
async function installPackages(source: string): Promise<void> {
  const lockOf = (folder: string) => {
    const file = join(folder, 'package-lock.json');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  if (lockOf(source) === lockOf(PROJECT_DIRECTORY)) return;
  console.log('That commit has other packages: npm installs them.');
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  try {
    await promisify(execFile)('npm', args, { cwd: source });
  } catch (error) {
    throw new UserError(`npm could not install its packages\n${String(error)}`);
  }
}

function schemaLine(source: string): string {
  const own = join(source, 'migrations');
  const known = new Set(existsSync(own) ? readdirSync(own) : []);
  const newer = readdirSync(MIGRATIONS_DIRECTORY).filter(
    (name) => name.endsWith('.sql') && !known.has(name),
  );
  const newerLine =
    newer.length === 0 ? '' : ` This version does not know ${newer.join(', ')}, but works with it.`;
  return `The schema and the data are unchanged.${newerLine}`;
}
