/** Tokens over real HTTP, where each request has its own context: no promise may be shared. */

import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { startProductionService } from '../support/node/production-service.ts';
import { AUDIENCE, createProvider, ISSUER } from '../support/tokens.ts';

const REQUESTS = 8;

it('each of many requests at once fetches the key set, and waits for no other; then it is kept', async () => {
  const provider = await createProvider('key-1', 'RS256');
  let fetches = 0;
  const keyServer = createServer((_, response) => {
    fetches += 1;
    setTimeout(() => response.end(provider.jwks), 100);
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  const address = keyServer.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const service = await startProductionService({
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS_URL: `http://127.0.0.1:${port}/jwks`,
  });
  const present = (token: string) =>
    Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        const headers = { Authorization: `Bearer ${token}` };
        const response = await fetch(new URL('/api/v1/web/properties', service.url), { headers });
        await response.arrayBuffer();
        return response.status;
      }),
    );
  for (const [kid, status] of [
    ['key-1', 200],
    ['key-1', 200],
    ['key-2', 401],
  ] as const) {
    const token = await provider.sign({}, { kid });
    expect(await present(token)).toEqual(Array(REQUESTS).fill(status));
    expect(fetches).toBe(REQUESTS);
  }
  await service.stop();
  keyServer.close();
});
