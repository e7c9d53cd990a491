/**
 * Tokens and limits over real HTTP: each request has its own context, the provider is slow or
 * silent.
 */

import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Runtime } from '../../tools/bench/runtime.ts';
import { startProductionService } from '../support/node/production-service.ts';
import { AUDIENCE, createProvider, ISSUER } from '../support/tokens.ts';

const provider = await createProvider('key-1', 'RS256');

/** The provider's response to a request for its keys. */
let respond: (response: ServerResponse) => void = () => {};
let fetches = 0;
const keyServer = createServer((_, response) => {
  fetches += 1;
  respond(response);
});

let service: Runtime;

beforeAll(async () => {
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  const address = keyServer.address();
  if (address === null || typeof address === 'string') throw new Error('the provider has no port');
  service = await startProductionService({
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS_URL: `http://127.0.0.1:${address.port}/jwks`,
  });
});
afterAll(async () => {
  await service?.stop();
  keyServer.closeAllConnections();
  keyServer.close();
});

async function statusOf(path: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(new URL(path, service.url), { headers });
  await response.arrayBuffer();
  return response.status;
}

async function present(token: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, 'CF-Connecting-IP': '192.0.2.1' };
  return statusOf('/api/v1/web/properties', headers);
}

function atOnce(count: number, call: () => Promise<number>): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, call));
}

describe('a key set over HTTP', () => {
  it('that never arrives is a 500 for each of many requests', async () => {
    const token = await provider.sign();
    expect(await atOnce(8, () => present(token))).toEqual(Array(8).fill(500));
    expect(fetches).toBe(8);
  });

  it('is fetched by each of many requests at once, none of which waits for another, and then kept', async () => {
    fetches = 0;
    respond = (response) => setTimeout(() => response.end(provider.jwks), 100);
    const token = await provider.sign();
    expect(await atOnce(8, () => present(token))).toEqual(Array(8).fill(200));
    expect(fetches).toBe(8);
    expect(await atOnce(8, () => present(token))).toEqual(Array(8).fill(200));
    const unknown = await provider.sign({}, { kid: 'key-2' });
    expect(await atOnce(8, () => present(unknown))).toEqual(Array(8).fill(401));
    expect(fetches).toBe(8);
  });
});

it('passes exactly 100 of 300 requests that one address sends at once', async () => {
  const headers = { 'CF-Connecting-IP': '192.0.2.2' };
  const statuses = await atOnce(300, () => statusOf('/api/none', headers));
  expect(statuses.filter((status) => status === 404)).toHaveLength(100);
  expect(statuses.filter((status) => status === 429)).toHaveLength(200);
});
