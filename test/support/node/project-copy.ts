/** Runs the project's commands in a temporary copy that has its own state. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import { createDevVars, readVars } from '../../../tools/configuration/dev-vars.ts';
import { ensureDevelopmentKeys } from '../../../tools/development/key-pair.ts';
import { type Runtime, startRuntime } from '../../../tools/workerd/runtime.ts';
import { getBundle } from './bundles.ts';
import { neutralConfig } from './neutral-config.ts';

const COPIED =
  'src tools migrations docs README.md CONTRIBUTING.md CHANGELOG.md package.json tsconfig.json .dev.vars.example';
/** The start of every command line, as in package.json. */
export const NODE = [process.execPath, '--import', './tools/own-node.js'];
const READY_DEADLINE_MS = 60_000;
/** Matches the last line that `dev` prints when it is ready. */
const READY = /^curl .*ingest/m;

export type Finished = { code: number | null; stdout: string; stderr: string };

/** A running program. It leads the process group of all processes that it starts. */
type Program = {
  child: ChildProcessByStdio<null, Readable, Readable>;
  ended: Promise<number | null>;
};

export type Service = Awaited<ReturnType<ProjectCopy['serveByDev']>>;

export class ProjectCopy {
  readonly directory = mkdtempSync(join(tmpdir(), 'project-'));
  readonly #programs: Program[] = [];
  readonly #runtimes: Runtime[] = [];

  constructor() {
    for (const name of COPIED.split(' ')) {
      cpSync(name, join(this.directory, name), { recursive: true });
    }
    this.write('wrangler.toml', neutralConfig(readFileSync('wrangler.toml', 'utf8')));
    symlinkSync(join(process.cwd(), 'node_modules'), join(this.directory, 'node_modules'));
  }

  /** Writes a file: strings and bytes unchanged, other values as JSON. Returns the file's path. */
  write(name: string, content: unknown): string {
    const path = join(this.directory, name);
    const isRaw = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(path, isRaw ? content : JSON.stringify(content));
    return path;
  }

  rows(statement: string): Record<string, unknown>[] {
    using database = new DatabaseSync(this.databaseFile());
    return database.prepare(statement).all();
  }

  /** Returns the path of the local database. */
  databaseFile(): string {
    const files = join(this.directory, '.wrangler/state/v3/d1/*/*.sqlite');
    return globSync(files).find((name) => /\/[0-9a-f]{64}\.sqlite$/.test(name)) ?? '';
  }

  async run(program: string, ...args: string[]): Promise<Finished> {
    const { child, ended } = this.#start([...NODE, join('tools/commands', program), ...args]);
    const printed = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code, [stdout, stderr]] = await Promise.all([ended, printed]);
    return { code, stdout, stderr };
  }

  /**
   * Serves the copy in a workerd that belongs to this process, until `stop` or `remove` is called.
   * Generates a key pair for tokens, like `dev`. Starts ten times as fast as `dev`, which also
   * starts a proxy and builds a bundle.
   */
  async serve() {
    createDevVars(this.directory);
    await ensureDevelopmentKeys(this.directory);
    const vars = readVars(this.directory);
    const bundle = await getBundle('src/development/dev-worker.ts');
    const runtime = await startRuntime(bundle, Object.fromEntries(vars), {
      resourcePersistencePath: join(this.directory, '.wrangler/state/v3'),
    });
    this.#runtimes.push(runtime);
    const { url, database, stop } = runtime;
    return { origin: url.origin, vars, database, stop };
  }

  /** Starts `dev` and waits until it is ready. */
  async serveByDev(port: number, environment: Record<string, string> = {}, ...args: string[]) {
    const command = [...NODE, 'tools/commands/dev.ts', ...args];
    const { child, ended } = this.#start(command, { PORT: String(port), ...environment });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (printed: string) => {
        output += printed;
      });
    }
    const isReady = () => READY.test(output) || child.exitCode !== null;
    await vi.waitUntil(isReady, { timeout: READY_DEADLINE_MS }).catch(() => undefined);
    if (!READY.test(output)) throw new Error(`dev did not become ready:\n${output}`);
    const [origin = ''] = /http:\/\/localhost:\d+/.exec(output) ?? [];
    return {
      origin,
      /** Id of the process group that contains `dev` and its child processes. */
      group: child.pid ?? 0,
      /** Returns everything printed so far. */
      output: () => output,
      /** Sends a signal to `dev`, but not to its child processes. Returns the exit code. */
      stop(signal: NodeJS.Signals) {
        child.kill(signal);
        return ended;
      },
    };
  }

  /** Ends all running programs, waits for their last output, and removes the copy. */
  async remove(): Promise<void> {
    for (const program of this.#programs) killAll(program);
    await Promise.all(this.#programs.map(({ ended }) => ended));
    await Promise.all(this.#runtimes.map(({ stop }) => stop()));
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  #start([command = '', ...args]: string[], environment?: Record<string, string>): Program {
    const child = spawn(command, args, {
      cwd: this.directory,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const program = { child, ended };
    this.#programs.push(program);
    return program;
  }
}

function killAll({ child }: Program): void {
  try {
    process.kill(-Number(child.pid), 'SIGKILL');
  } catch {
    // The process group has ended.
  }
}
