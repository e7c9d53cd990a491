/** Readers during an import, with the cache off. apply.test.ts has readers between the statements of imports. */

import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProjectCopy } from '../../support/node/project-copy.ts';
import type { ServedCopy } from '../../support/node/served-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

/** Longer than a read waits for a passing fault other than a lock, and shorter than a read may take. */
const LOCKED_MS = 2_500;
const API_KEY = 'readers_key';
const PATHS = [
  '/api/v1/web/properties?limit=5',
  '/api/v1/web/properties?limit=10&status=listed,sold_out',
  '/api/v1/web/properties/casa-ginebrera',
  '/api/v1/events?limit=5',
];

let project: ProjectCopy;
let service: ServedCopy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write(
    '.dev.vars',
    `API_KEY=${API_KEY}\nJWT_JWKS=\nFEED_CACHE_SECONDS=0\nRATE_LIMIT_DEFAULT=1000000\n`,
  );
  service = await project.serve();
});
afterAll(() => project.remove());

async function read(path: string): Promise<number> {
  const response = await fetch(`${service.origin}${path}`, { headers: { 'x-api-key': API_KEY } });
  await response.arrayBuffer();
  return response.status;
}

it('no reader fails while another program has the database locked, as the batches of an import have it', async () => {
  const lock = new DatabaseSync(project.databaseFile());
  lock.exec('BEGIN IMMEDIATE');
  let isLocked = true;
  const readers = PATHS.map(async (path) => [await read(path), isLocked]);
  await pause(LOCKED_MS);
  isLocked = false;
  lock.exec('COMMIT');
  lock.close();
  expect(await Promise.all(readers)).toEqual(PATHS.map(() => [200, false]));
});
