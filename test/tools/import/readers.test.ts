/** Readers during an import: with the cache off, from its first batch to its last, none of them fails. */

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import type { ProjectCopy } from '../../support/node/project-copy.ts';
import type { ServedCopy } from '../../support/node/served-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

/** An import that is large enough to keep the database locked for longer than a read waits for a passing fault. */
const LISTINGS = process.env.FULL ? 10_000 : 2_000;
/** Readers that leave the import no processor would only make it last longer. */
const PAUSE_MS = 100;
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

function fileOfMany(version: string) {
  return fileOf(
    Array.from({ length: LISTINGS }, (_, index) =>
      propertyOf({
        id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        slug: `many-${index}`,
        description: { en: `${version} ${index} `.repeat(600) },
      }),
    ),
  );
}

it(`no reader fails while ${LISTINGS} listings are added, and then changed`, async () => {
  for (const version of ['first', 'second']) {
    const file = project.write('many.json', fileOfMany(version));
    let isRunning = true;
    const running = project.run('import-listings.ts', file).finally(() => {
      isRunning = false;
    });
    const statuses: Record<number, number> = {};
    const readers = PATHS.map(async (path) => {
      while (isRunning) {
        const response = await fetch(`${service.origin}${path}`, {
          headers: { 'x-api-key': API_KEY },
        });
        await response.arrayBuffer();
        statuses[response.status] = (statuses[response.status] ?? 0) + 1;
        await pause(PAUSE_MS);
      }
    });
    const { code, stderr } = await running;
    await Promise.all(readers);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(Object.keys(statuses)).toEqual(['200']);
  }
});
