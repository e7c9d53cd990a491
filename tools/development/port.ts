/** The port that the local service listens on. */

import { createServer } from 'node:net';
import { UserError } from '../command-line/project.ts';

const DEFAULT_PORT = 3001;
/** Where wrangler listens for `localhost`. */
const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * `PORT` of the environment, else of .dev.vars, else 3001. An empty value is none.
 * Throws a `UserError` for one that is no port.
 */
export function portOf(environment: string | undefined, devVars: string | undefined): number {
  const text = environment || devVars || String(DEFAULT_PORT);
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) {
    throw new UserError(`PORT must be a whole number from 1 to 65535, not ${JSON.stringify(text)}`);
  }
  return port;
}

/** Throws a `UserError` unless the port can be listened on. */
export async function requireFreePort(port: number): Promise<void> {
  for (const host of LOOPBACK) {
    const code = await listenOnce(port, host);
    if (code === 'EADDRINUSE') {
      throw new UserError(
        `port ${port} is in use: stop what listens there, or choose another with PORT`,
      );
    }
    if (code === 'EACCES') throw new UserError(`port ${port} may not be listened on by this user`);
  }
}

/** The code of the error that listening gives, if any. A host that this machine lacks is no problem here. */
function listenOnce(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
