/**
 * `npm run rollback`: deploys the code of an earlier version again, by that version's own release
 * (cloudflare/release.ts) with today's wrangler.toml: docs/operate/runbook.md says why.
 */

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccount } from './cloudflare/account.ts';
import { EXIT, exitCodeOfSteps, rollbackWords } from './cloudflare/release.ts';
import { findServed, listVersions, type Version } from './cloudflare/versions.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { findCommit, MESSAGE_CHARACTERS, unpackCommit } from './command-line/git.ts';
import { PROJECT_DIRECTORY } from './command-line/project.ts';
import { inScratchFolder } from './command-line/scratch.ts';
import { UserError } from './command-line/user-error.ts';
import {
  CONFIG_FILE,
  chosenEnvironment,
  commandFor,
  soundDeploymentOf,
} from './command-line/wrangler-config.ts';

const USAGE = `Usage: npm run rollback [-- [--to TAG] [--env NAME]]

Deploys the code of an earlier version again, to production or to the environment of --env, and lists the versions.

  --to TAG    the tag of the version to go back to, instead of the one before
  --env NAME  an environment of wrangler.toml, such as staging, instead of production

Changes: the code that serves. Secrets and vars are today's; the schema and the data stay as they are.
Exit codes: 0 the earlier code serves, 1 nothing has changed, 2 deployed, but a later step failed.
Example: npm run rollback -- --to 1a2b3c4d5e6f`;

/** Inside the project, so that the code finds its packages. Git ignores the folder. */
const FOLDER = join(PROJECT_DIRECTORY, '.wrangler');

type Request = ReturnType<typeof parseRequest>;

export const command: Command<Request> = {
  usage: USAGE,
  invalidArguments: EXIT.notDeployed,
  parse: parseRequest,
  run,
};

if (import.meta.main) await runCommand(command);

function parseRequest(args: string[]) {
  const options = { to: { type: 'string' }, env: { type: 'string' } } as const;
  const { to, env } = readArguments('rollback', args, options).values;
  if (to === '') throw new UserError('--to needs the tag of a version');
  return { to, environment: chosenEnvironment(env) };
}

function run(request: Request): Promise<number> {
  return exitCodeOfSteps(() => rollBack(request), ...rollbackWords(request.environment));
}

async function rollBack({ to, environment }: Request): Promise<number> {
  const deployment = soundDeploymentOf(environment);
  const account = await openAccount(deployment, ['workers', 'd1', 'kv']);
  const { worker } = deployment;
  const served = await findServed(account, worker);
  if (served === undefined) throw new UserError(`the account has no Worker ${worker}`);
  const versions = await listVersions(account, worker);
  console.log(tableOf(worker, versions, served));
  const tag = targetOf(versions, tagAt(versions, served), to, environment);
  const commit = findCommit(tag);
  if (commit === undefined) {
    throw new UserError(
      `this clone has no commit ${tag}: fetch it, or go back to a version that was deployed from a commit`,
    );
  }
  const message = `back to ${commit}`.slice(0, MESSAGE_CHARACTERS);
  const target = environment === undefined ? [] : ['--env', environment];
  const args = ['--tag', tag, '--message', message, ...target];
  const code = await releaseCommit(tag, args, account.environment);
  if (code === EXIT.served)
    console.log("Keys and vars are today's. Schema and data are unchanged.");
  return code;
}

/** Runs the release of a commit in a scratch folder. Returns its exit code. */
function releaseCommit(id: string, args: readonly string[], environment: Record<string, string>) {
  mkdirSync(FOLDER, { recursive: true });
  return inScratchFolder(FOLDER, async (source) => {
    unpackCommit(id, source);
    copyFileSync(join(PROJECT_DIRECTORY, CONFIG_FILE), join(source, CONFIG_FILE));
    installPackages(source);
    const { status } = spawnSync(process.execPath, ['tools/cloudflare/release.ts', ...args], {
      cwd: source,
      env: { ...process.env, ...environment },
      stdio: 'inherit',
    });
    return status ?? EXIT.deployedWithFault;
  });
}

/** Returns the tag of a version's code. A changed secret makes a version without a tag. */
function tagAt(versions: readonly Version[], id: string): string | undefined {
  const index = versions.findIndex((version) => version.id === id);
  return versions.slice(0, index + 1).findLast(({ tag }) => tag !== undefined)?.tag;
}

/** Returns the tag to go back to: `to`, or the one before `current`. */
function targetOf(
  versions: readonly Version[],
  current: string | undefined,
  to: string | undefined,
  environment: string | undefined,
): string {
  const tags = versions.flatMap(({ tag }) => tag ?? []);
  if (to === undefined) {
    // Code counts where it was first uploaded, so that a second rollback goes further back.
    const before = tags[tags.indexOf(current ?? '') - 1];
    if (before !== undefined) return before;
    throw new UserError(
      `no version before the one that serves is known: choose one by \`${commandFor(environment, 'rollback', '--to', 'TAG')}\``,
    );
  }
  if (!tags.includes(to)) throw new UserError(`no version has the tag ${to}`);
  if (to === current) throw new UserError(`the code of ${to} serves already`);
  return to;
}

function tableOf(worker: string, versions: readonly Version[], served: string): string {
  const lines = versions.map(({ id, createdAt, tag = 'a changed secret', message }) =>
    [id === served ? '→' : ' ', createdAt, tag, message].join('  ').trimEnd(),
  );
  return [`Versions of ${worker}, the latest last; → serves:`, ...lines].join('\n');
}

/** Installs the packages of the commit if its lockfile differs from that of the working copy. */
function installPackages(source: string): void {
  const lockOf = (folder: string) => {
    const file = join(folder, 'package-lock.json');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  if (lockOf(source) === lockOf(PROJECT_DIRECTORY)) return;
  console.log('That commit has other packages: npm installs them.');
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, stderr, error } = spawnSync('npm', args, { cwd: source, encoding: 'utf8' });
  if (status !== 0) throw new UserError(`npm could not install its packages\n${error ?? stderr}`);
}
