/** Chooses the address and the ports for the local service and its debugger. */

import { createServer, isIP, isIPv6 } from 'node:net';
import { describeError, UserError } from '../command-line/user-error.ts';

export const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 3001;
const MAX_PORT = 65_535;
/**
 * Difference between the debugger's port and the service's. For port 3001 it gives 9229, which
 * debuggers try first.
 */
const DEBUGGER_OFFSET = 6_228;

export function resolvePort(text: string | undefined): number {
  const port = Number(text || DEFAULT_PORT);
  if (Number.isInteger(port) && port >= 1 && port <= MAX_PORT) return port;
  throw new UserError(`PORT must be a whole number from 1 to 65535, not ${JSON.stringify(text)}`);
}

/** Validates the value of `--host`. Throws a `UserError` if it is not an IP address. */
export function parseHost(text: string): string {
  if (isIP(text) !== 0) return text;
  throw new UserError(
    `--host ${JSON.stringify(text)} is not an IP address. Use an address of this machine, such as 192.168.1.20, or 0.0.0.0 for all of them`,
  );
}

/**
 * Returns the origin to send requests to, e.g. `http://localhost:3001` if the service listens on
 * 0.0.0.0.
 */
export function formatOrigin(host: string, port: number): string {
  if ([LOOPBACK, '0.0.0.0', '::'].includes(host)) return `http://localhost:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * Throws a `UserError` if the service cannot listen on the port. Wrangler's message would mention
 * options that `npm run dev` does not have.
 */
export async function requireFree(host: string, port: number): Promise<void> {
  const error = await tryToListen(host, port);
  if (error === undefined) return;
  if (error.code === 'EADDRNOTAVAIL') {
    throw new UserError(`--host ${host} is not an address of this machine`);
  }
  throw new UserError(
    `port ${port}: ${describeError(error)}. Use another port: PORT=4000 npm run dev`,
  );
}

/**
 * Returns the debugger's default port for a `servicePort`. If that port is in use, returns the next
 * lower one that is free.
 */
export async function findDebuggerPort(servicePort: number): Promise<number> {
  const isHigh = servicePort + DEBUGGER_OFFSET > MAX_PORT;
  let port = servicePort + (isHigh ? -DEBUGGER_OFFSET : DEBUGGER_OFFSET);
  while ((await tryToListen(LOOPBACK, port))?.code === 'EADDRINUSE') port -= 1;
  return port;
}

/** Tries to listen on a port. Returns the error, or undefined if it succeeds. */
function tryToListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
