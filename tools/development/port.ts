/** The ports that the local service and its debugger listen on. */

import { createServer } from 'node:net';
import { UserError } from '../command-line/user-error.ts';

const DEFAULT_PORT = 3001;
const MAX_PORT = 65_535;
/** 9229, where debuggers look, belongs to 3001. */
const DEBUGGER_OFFSET = 6_228;
/** The hosts that wrangler listens on for `localhost`. */
const LOOPBACK = ['127.0.0.1', '::1'];

/** Throws for a value that is no port. */
export function resolvePort(environment: string | undefined, devVars: string | undefined): number {
  const text = environment || devVars || String(DEFAULT_PORT);
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > MAX_PORT) {
    throw new UserError(`PORT must be a whole number from 1 to 65535, not ${JSON.stringify(text)}`);
  }
  return port;
}

export async function requireFreePort(port: number): Promise<void> {
  for (const host of LOOPBACK) {
    const found = await listenOnce(port, host);
    if (found === 'EADDRINUSE') {
      throw new UserError(
        `port ${port} is in use: stop the program that listens there, or choose another with PORT`,
      );
    }
    if (found === 'EACCES') throw new UserError(`port ${port} may not be listened on by this user`);
  }
}

/** Returns a fixed port for each `servicePort`, or any if that is taken. */
export async function findDebuggerPort(servicePort: number): Promise<number> {
  const preferred = servicePort + DEBUGGER_OFFSET;
  for (const wanted of [preferred > MAX_PORT ? 0 : preferred, 0]) {
    const found = await listenOnce(wanted, '127.0.0.1');
    if (typeof found === 'number') return found;
  }
  throw new Error('no port is free');
}

/** Returns the port, or the error's code. */
function listenOnce(port: number, host: string): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}
