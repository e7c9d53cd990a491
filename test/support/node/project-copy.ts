/** A scratch copy of the project, with its own state, and the project's commands run in it. */

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { WRANGLER_ENVIRONMENT, wranglerCommand } from '../../../tools/command-line/project.ts';
import { neutralConfig } from './neutral-config.ts';
import { type ServedCopy, serveCopy } from './served-copy.ts';

const ROOT = process.cwd();
const COPIED = [
  'src',
  'tools',
  'migrations',
  'docs/guides',
  'package.json',
  'tsconfig.json',
  '.dev.vars.example',
];
const COMMAND_DEADLINE_MS = 90_000;
const READY_DEADLINE_MS = 60_000;
const POLL_MS = 100;
/** The last of the lines that `dev` prints when it is ready. */
const READY = /^curl .*ingest/m;

export type Finished = { code: number | null; stdout: string; stderr: string };

type Program = ChildProcessByStdio<null, Readable, Readable>;

export type Service = {
  origin: string;
  /** The process group of all that it has started. */
  group: number;
  /** Returns all that has been printed so far. */
  output: () => string;
  /** Sends a signal to the program alone and returns its exit code. */
  stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

export class ProjectCopy {
  readonly directory = mkdtempSync(join(tmpdir(), 'project-'));
  /** Added to the environment of every program that `run` starts. */
  environment: Readonly<Record<string, string>> = {};
  /**
   * The programs that were started. Each promise is kept when all that the program printed was
   * read.
   */
  readonly #groups = new Map<ChildProcess, Promise<void>>();
  readonly #served: ServedCopy[] = [];

  constructor() {
    for (const name of COPIED) {
      cpSync(join(ROOT, name), join(this.directory, name), { recursive: true });
    }
    this.write('wrangler.toml', neutralConfig(readFileSync(join(ROOT, 'wrangler.toml'), 'utf8')));
    symlinkSync(join(ROOT, 'node_modules'), join(this.directory, 'node_modules'));
  }

  /**
   * Writes a file of the copy: text and bytes as they are, anything else as JSON. Returns its path.
   */
  write(name: string, content: unknown): string {
    const path = join(this.directory, name);
    const isRaw = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(path, isRaw ? content : JSON.stringify(content));
    return path;
  }

  /** Queries the local database. */
  rows(query: string): Record<string, unknown>[] {
    const database = new DatabaseSync(this.databaseFile(), { readOnly: true });
    try {
      return database.prepare(query).all();
    } finally {
      database.close();
    }
  }

  /** Changes the local database behind the project's back. */
  execute(statements: string): void {
    const database = new DatabaseSync(this.databaseFile());
    try {
      database.exec(statements);
    } finally {
      database.close();
    }
  }

  /** Returns the file of the local database. */
  databaseFile(): string {
    const directory = join(this.directory, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
    const file = readdirSync(directory).find((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
    return join(directory, file ?? '');
  }

  /** Runs `node tools/…` to its end. */
  async run(program: string, ...args: string[]): Promise<Finished> {
    return finished(this.#spawn(program, args, { ...this.environment }));
  }

  /** Runs the project's wrangler to its end. `input` is what it reads. */
  async wrangler(args: readonly string[], input = ''): Promise<Finished> {
    const command = [process.execPath, ...wranglerCommand(...args)];
    const script = 'printf %s "$INPUT" | "$@"';
    const environment = { ...this.environment, ...WRANGLER_ENVIRONMENT, INPUT: input };
    return finished(this.#start('sh', ['-c', script, 'sh', ...command], environment));
  }

  /** Serves the copy from this process, until `remove` or its own `stop`. */
  async serve(): Promise<ServedCopy> {
    const served = await serveCopy(this.directory);
    this.#served.push(served);
    return served;
  }

  /** Starts `dev` and waits until it says that it is ready. */
  serveByDev(port: number): Promise<Service> {
    return this.#wait(this.#spawn('dev.ts', [], { PORT: String(port) }), READY);
  }

  /**
   * Starts `npm run dev` and waits until it says that it is ready, or prints what `until` matches.
   * Without a port it takes that of .dev.vars.
   */
  serveByNpm(port?: number, until = READY): Promise<Service> {
    return this.#wait(this.#start('npm', ['run', 'dev'], { PORT: String(port ?? '') }), until);
  }

  async #wait(child: Program, until: RegExp): Promise<Service> {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        output += `${line}\n`;
      });
    }
    const startedAt = Date.now();
    while (!until.test(output)) {
      if (child.exitCode !== null || Date.now() - startedAt > READY_DEADLINE_MS) {
        throw new Error(`dev did not become ready:\n${output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const origin = /(http:\/\/localhost:\d+)/.exec(output)?.[1] ?? '';
    return {
      origin,
      group: child.pid ?? 0,
      output: () => output,
      stop: async (signal) => {
        child.kill(signal);
        return exitOf(child);
      },
    };
  }

  /** Ends whatever still runs, waits for its last lines, and removes the copy. */
  async remove(): Promise<void> {
    for (const child of this.#groups.keys()) kill(child);
    await Promise.all(this.#groups.values());
    await Promise.all(this.#served.map((served) => served.stop()));
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  #spawn(program: string, args: string[], environment: Record<string, string>): Program {
    return this.#start(process.execPath, [join('tools', program), ...args], environment);
  }

  /**
   * Starts a program as the leader of a process group, so that all that it starts can be ended with
   * it.
   */
  #start(program: string, args: string[], environment: Record<string, string>): Program {
    const child = spawn(program, args, {
      cwd: this.directory,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#groups.set(child, new Promise((resolve) => child.once('close', () => resolve())));
    return child;
  }
}

/** Waits for the end of a program, and kills it when that does not come in time. */
async function finished(child: Program): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const deadline = setTimeout(() => kill(child), COMMAND_DEADLINE_MS);
  const code = await exitOf(child);
  clearTimeout(deadline);
  return { code, stdout, stderr };
}

/** Returns whether any process of the group that `pid` led is left. */
function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

function kill(child: ChildProcess): void {
  if (child.pid !== undefined && isGroupAlive(child.pid)) process.kill(-child.pid, 'SIGKILL');
}

function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('close', resolve));
}
