/** Runs the project's wrangler for a deployment, with a generated configuration that holds the ids. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';
import {
  type Deployment,
  readWranglerConfig,
  type WranglerConfig,
  withIds,
} from '../command-line/wrangler-config.ts';

/** The folder of generated files, which are removed with the command's end. Git ignores it. */
const FOLDER = join(PROJECT_DIRECTORY, '.wrangler');

export type Wrangler = {
  /** Runs wrangler to its end. `output` is its output; empty with `isShown`, which shows the output as it comes. */
  run(args: readonly string[], options?: { isShown?: boolean }): Promise<Outcome>;
  /** Returns wrangler's report of its runs, one JSON object per line. */
  report(): string;
  remove(): void;
};

type Outcome = { isDone: boolean; output: string };

/**
 * Makes a wrangler for a deployment. Without `remote` it can only build. `source` is the directory of the code; the
 * configuration is always the one of the working copy.
 */
export function wranglerFor(
  deployment: Deployment,
  remote?: {
    ids: { databaseId: string; namespaceId: string };
    environment: Record<string, string>;
  },
  source = PROJECT_DIRECTORY,
): Wrangler {
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, 'generated-'));
  const configFile = join(folder, 'wrangler.json');
  const reportFile = join(folder, 'report');
  const config = readWranglerConfig();
  const filled =
    remote === undefined ? config : withIds(config, deployment.environment, remote.ids);
  writeFileSync(configFile, JSON.stringify(withAbsolutePaths(filled, source)));
  const environment = {
    ...process.env,
    ...WRANGLER_ENVIRONMENT,
    ...remote?.environment,
    CI: 'true',
    WRANGLER_OUTPUT_FILE_PATH: reportFile,
  };
  return {
    run(args, { isShown = false } = {}) {
      const target = ['--config', configFile, `--env=${deployment.environment ?? ''}`];
      const child = spawn(process.execPath, wranglerCommand(...args, ...target), {
        cwd: PROJECT_DIRECTORY,
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        // This program passes the output on, because wrangler would end when the pipe is closed.
        stream.setEncoding('utf8').on('data', (text: string) => {
          if (isShown) process.stdout.write(text);
          else output += text;
        });
      }
      return new Promise((resolve) => {
        child.on('error', (error) => resolve({ isDone: false, output: error.message }));
        child.on('close', (status) => resolve({ isDone: status === 0, output: output.trim() }));
      });
    },
    report: () => readFileSync(reportFile, 'utf8'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Makes paths absolute, because the generated file is in another folder than wrangler.toml. */
function withAbsolutePaths(config: WranglerConfig, source: string): WranglerConfig {
  const absolute = <T extends Pick<WranglerConfig, 'd1_databases'>>(own: T): T => ({
    ...own,
    d1_databases: own.d1_databases.map((each) => ({
      ...each,
      ...(typeof each.migrations_dir === 'string' && {
        migrations_dir: join(PROJECT_DIRECTORY, each.migrations_dir),
      }),
    })),
  });
  return {
    ...absolute(config),
    ...(config.main !== undefined && { main: join(source, config.main) }),
    env: Object.fromEntries(Object.entries(config.env).map(([name, own]) => [name, absolute(own)])),
  };
}
