/** The ports that the local service and its debugger listen on. */

import { createServer } from 'node:net';
import { messageOf, UserError } from '../command-line/user-error.ts';

const DEFAULT_PORT = 3001;
const MAX_PORT = 65_535;
/** 9229, where debuggers look, belongs to 3001. */
const DEBUGGER_OFFSET = 6_228;

export function resolvePort(text: string | undefined): number {
  const port = Number(text || DEFAULT_PORT);
  if (Number.isInteger(port) && port >= 1 && port <= MAX_PORT) return port;
  throw new UserError(`PORT must be a whole number from 1 to 65535, not ${JSON.stringify(text)}`);
}

/** Throws a `UserError` if the service cannot listen on the port. Wrangler would name its own option. */
export async function requireFree(port: number): Promise<void> {
  const fault = await findFault(port);
  if (fault === undefined) return;
  throw new UserError(`port ${port}: ${messageOf(fault)}. Another port: PORT=4000 npm run dev`);
}

/** Returns a fixed port for each `servicePort`, or one below if that is taken. */
export async function findDebuggerPort(servicePort: number): Promise<number> {
  const isHigh = servicePort + DEBUGGER_OFFSET > MAX_PORT;
  let port = servicePort + (isHigh ? -DEBUGGER_OFFSET : DEBUGGER_OFFSET);
  while ((await findFault(port))?.code === 'EADDRINUSE') port -= 1;
  return port;
}

/** Returns why a program cannot listen there. */
function findFault(port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
      server.close(() => resolve(undefined)),
    );
  });
}
