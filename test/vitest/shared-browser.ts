/**
 * Shares one Chromium among all test files in a run. It starts only when a file requests it, because many runs do not need it.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import type { BrowserServer } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A URL whose response is the browser's WebSocket endpoint. */
    browserUrl: string;
  }
}

const CHROMIUM = '/usr/bin/chromium';

/**
 * Serves the browser's endpoint. Vitest calls this function before it starts a worker, and the
 * returned function after the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let launching: Promise<BrowserServer> | undefined;
  const server = createServer(async (_, response) => {
    try {
      launching ??= launch();
      response.end((await launching).wsEndpoint());
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  project.provide('browserUrl', `http://127.0.0.1:${port}/`);
  return async () => {
    server.close();
    await (await launching?.catch(() => undefined))?.close();
  };
}

async function launch(): Promise<BrowserServer> {
  const { chromium } = await import('playwright-core');
  // Chromium stores nothing but crash reports in this folder.
  const env = { ...process.env, XDG_CONFIG_HOME: tmpdir() };
  return chromium.launchServer({ executablePath: CHROMIUM, args: ['--no-sandbox'], env });
}
