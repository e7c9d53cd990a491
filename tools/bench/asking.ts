/** Requests of which each is timed, on a connection that is kept. */

import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { Call } from './load.ts';

export type Answered = { status: number; headers: IncomingHttpHeaders; milliseconds: number };

export type Connection = {
  /** Sends the request from a client's address, and reads the answer to its end. */
  ask(call: Call, client: string): Promise<Answered>;
  close(): void;
};

/** Makes a connection, which carries one request at a time. */
export function connectTo(url: URL): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask({ method, path, headers, body }, client) {
      return new Promise((resolve, reject) => {
        const startedAt = performance.now();
        const sent = request(
          new URL(path, url).href,
          { agent, method, headers: { ...headers, 'CF-Connecting-IP': client } },
          (answer) => {
            answer.on('error', reject);
            answer.on('end', () =>
              resolve({
                status: answer.statusCode ?? 0,
                headers: answer.headers,
                milliseconds: performance.now() - startedAt,
              }),
            );
            answer.resume();
          },
        );
        sent.on('error', reject);
        sent.end(body);
      });
    },
    close: () => agent.destroy(),
  };
}
