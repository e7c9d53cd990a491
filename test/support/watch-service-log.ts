/**
 * Reads every line that a service over real HTTP logs while the tests run, and finds those that hold a
 * credential, an Idempotency-Key or a value of a body or query. each-file.ts fails a test file by them.
 *
 * It reads the values that a test sends from the test's sockets. A test that starts a service registers it with
 * `watchService`. A request to a service that is not registered, or whose log is not read, is found too.
 */

import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import * as z from 'zod';
import { findSecrets, secretsIn, withoutIds } from './secrets.ts';

/** The log of one service. */
export type ServiceLog = {
  /** Takes in a line. */
  hear(line: string): void;
  /** Takes in all lines that a program prints. */
  hearOutput(output: Readable): void;
  /** The service's origin, and its valid keys, comma-separated. */
  at(origin: string, apiKeys: string): void;
};

/** The data that one socket was given to send. */
type Conversation = { port: string; sent: string[] };

const ACCESS_LOG_LINE = '{"level":"info","message":"request"';
const API_REQUEST = /^[A-Z]+ \/api\//m;

const conversations: Conversation[] = [];
/** Texts that hold values which other programs sent. */
let notes: string[] = [];
const lines = new Set<string>();
/** The ports of the services whose log is heard. */
const heardPorts = new Set<string>();

export function watchService(): ServiceLog {
  let port = '';
  let isHeard = false;
  const hear = (line: string) => {
    lines.add(withoutIds(line));
    isHeard ||= line.includes(ACCESS_LOG_LINE);
    if (isHeard && port !== '') heardPorts.add(port);
  };
  return {
    hear,
    hearOutput: (output) => createInterface({ input: output }).on('line', hear),
    at(origin, apiKeys) {
      port = new URL(origin).port;
      if (isHeard) heardPorts.add(port);
      noteSent(
        apiKeys
          .split(',')
          .map((key) => `x-api-key: ${key}`)
          .join('\n'),
      );
    },
  };
}

/** Registers a port whose requests are passed on to a service whose log is read. */
export function watchRelay(port: number): void {
  heardPorts.add(String(port));
}

/** Records the values that another program sends, such as a script of curl lines. */
export function noteSent(text: string): void {
  notes.push(text);
}

/** Returns the faults of the log so far, and clears the log. */
export function takeFindings(): string[] {
  const texts = conversations.map(({ sent }) => sent.join(''));
  const secrets = new Set([...texts, ...notes].flatMap(secretsIn));
  const leaks = [...lines].flatMap((line) => findSecrets(line, secrets));
  const unheard = conversations
    .filter((_, index) => API_REQUEST.test(texts[index] ?? ''))
    .filter(({ port }) => !heardPorts.has(port))
    .map(({ port }) => `the log of the service on port ${port} is not read: see watchService`);
  // Connections may still be in use.
  for (const { sent } of conversations) sent.length = 0;
  notes = [];
  lines.clear();
  return [...new Set([...leaks, ...unheard])];
}

/** Forgets which services there were, before the next test file has its own. */
export function forgetServices(): void {
  heardPorts.clear();
  conversations.length = 0;
}

/** Records every value that is written to a socket, by `fetch`, `node:http` or by hand. */
function listenTo(socket: Socket): void {
  const conversation: Conversation = { port: '', sent: [] };
  conversations.push(conversation);
  socket.once('connect', () => {
    conversation.port = String(socket.remotePort);
  });
  const { _write: write, _writev: writev } = socket;
  socket._write = (chunk: string | Uint8Array, encoding, callback) => {
    conversation.sent.push(textOf(chunk, encoding));
    write.call(socket, chunk, encoding, callback);
  };
  if (writev === undefined) return;
  socket._writev = (chunks, callback) => {
    for (const { chunk, encoding } of chunks) conversation.sent.push(textOf(chunk, encoding));
    writev.call(socket, chunks, callback);
  };
}

function textOf(chunk: string | Uint8Array, encoding: BufferEncoding): string {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
  return Buffer.from(bytes).toString('utf8');
}

const opened = z.object({ socket: z.instanceof(Socket) });

subscribe('net.client.socket', (message) => listenTo(opened.parse(message).socket));
