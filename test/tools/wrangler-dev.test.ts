/** Plain `npx wrangler dev`, in a working copy that is not set up. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimPort } from '../support/node/port.ts';
import { ProjectCopy, type Service } from '../support/node/project-copy.ts';

const HINT = 'This working copy is not set up: run `npm run dev` once.';

let project: ProjectCopy;
let service: Service;
let port: number;

beforeAll(async () => {
  project = new ProjectCopy();
  port = await claimPort();
  const config = readFileSync(join(project.directory, 'wrangler.toml'), 'utf8');
  // Another program may have 3001 on the machine of the tests.
  const moved = config.replace(/^port = 3001$/m, `port = ${port}`);
  expect(moved).not.toBe(config);
  project.write('wrangler.toml', moved);
  service = await project.serveByWrangler();
});
afterAll(() => project.remove());

function ask(path: string, id: string): Promise<Response> {
  return fetch(`http://localhost:${port}${path}`, {
    headers: { 'x-api-key': 'any', 'X-Request-ID': id },
  });
}

it('serves on the port of wrangler.toml, and says what to run', async () => {
  expect(service.origin).toBe(`http://localhost:${port}`);
  for (const path of ['/api/v1/web/properties', '/api/v1/events']) {
    const response = await ask(path, 'not-set-up');
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ message: expect.stringContaining(HINT) });
  }
  const health = await ask('/api/health/detailed', 'down');
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({
    status: 'down',
    message: expect.stringContaining(HINT),
  });
});
