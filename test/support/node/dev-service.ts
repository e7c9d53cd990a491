/**
 * A served scratch copy for clients that run as programs. They talk to a relay in this process: the watch over the log
 * hears only this one's sockets.
 */

import { connect, createServer, type Socket } from 'node:net';
import * as z from 'zod';
import { claimPort } from './port.ts';
import type { ProjectCopy } from './project-copy.ts';
import { copyWithStore } from './stores.ts';

export type DevService = {
  /** Has no trailing slash. */
  origin: string;
  apiKey: string;
  /** The scratch copy that is served. */
  project: ProjectCopy;
  stop: () => Promise<void>;
};

/** Serves a scratch copy with the sample listings. Rejects when that fails. */
export async function startDevService(): Promise<DevService> {
  const project = await copyWithStore('samples');
  try {
    const service = await project.serve();
    const relay = await startRelay(Number(new URL(service.origin).port));
    return {
      origin: relay.origin,
      apiKey: z.string().parse(service.vars.get('API_KEY')),
      project,
      stop: async () => {
        relay.close();
        await project.remove();
      },
    };
  } catch (error) {
    await project.remove();
    throw error;
  }
}

/** Passes bytes on unchanged, to a port of this machine and back. */
async function startRelay(target: number): Promise<{ origin: string; close: () => void }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target, 'localhost');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  const port = await claimPort();
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve));
  return {
    origin: `http://localhost:${port}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
