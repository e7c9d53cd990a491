/** The service as `npm run dev` serves it, from a working copy of its own, so that a developer's stays as it is. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';

const COPIED = [
  '.dev.vars.example',
  'migrations',
  'package.json',
  'src',
  'tsconfig.json',
  'wrangler.toml',
];

export type DevService = {
  /** Without a trailing slash. */
  origin: string;
  apiKey: string;
  /** The working copy that is served. */
  directory: string;
  stop: () => Promise<void>;
};

/** Sets a fresh working copy up and serves it with the sample listings. Rejects when that fails. */
export async function startDevService(): Promise<DevService> {
  const directory = mkdtempSync(join(tmpdir(), 'dev-service-'));
  for (const name of COPIED) cpSync(name, join(directory, name), { recursive: true });
  symlinkSync(realpathSync('node_modules'), join(directory, 'node_modules'));
  const port = await freePort();
  const service = spawn(process.execPath, ['src/cli/dev.ts'], {
    cwd: directory,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = async () => {
    if (service.exitCode === null) {
      const exited = once(service, 'exit');
      service.kill('SIGTERM');
      await exited;
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const output = await outputUntilReady(service);
    const apiKey = z.string().parse(/x-api-key: (\w+)/.exec(output)?.[1]);
    return { origin: `http://localhost:${port}`, apiKey, directory, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the service prints up to its first requests, the line about events last. */
function outputUntilReady(service: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      if (/Ready\. Try:[\s\S]*events\/ingest/.test(output)) resolve(output);
    };
    service.stdout?.on('data', read);
    service.stderr?.on('data', read);
    service.once('exit', () => reject(new Error(`dev ended before it was ready:\n${output}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  server.close();
  await once(server, 'close');
  return port;
}
