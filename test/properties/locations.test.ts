/** The list of locations, which the filters `location` and `location_id` take. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { listOf } from '../../src/openapi/list-resource.ts';
import { locationResource } from '../../src/properties/openapi/resource.ts';
import { expectError, expectStatus, get } from '../support/http.ts';

const LIST = '/api/v1/web/locations';
const page = listOf(locationResource);
const COUNT = 300;

/** Every third one has no slug. */
const stored = Array.from({ length: COUNT }, (_, index) => ({
  id: crypto.randomUUID(),
  slug: index % 3 === 0 ? null : `place-${(index * 7) % COUNT}`,
  name: { en: `Place ${index}`, fr: `Lieu ${index}` },
}));

type Stored = { id: string; slug: string | null; name: object };

async function store(locations: readonly Stored[]) {
  const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
  await env.DB.batch(
    locations.map(({ id, slug, name }) => insert.bind(id, slug, JSON.stringify(name))),
  );
}

/** Returns the ids by slug, locations without a slug last, then by id. */
function inOrder(locations: readonly Stored[]): string[] {
  const named = locations.filter(({ slug }) => slug !== null);
  const nameless = locations.filter(({ slug }) => slug === null);
  return [
    ...named.sort((a, b) => (String(a.slug) < String(b.slug) ? -1 : 1)).map(({ id }) => id),
    ...nameless.map(({ id }) => id).sort(),
  ];
}

beforeAll(() => store(stored));

async function list(query: string) {
  const response = await get(`${LIST}?${query}`);
  await expectStatus(response, 200);
  return page.parse(await response.json());
}

describe('the list of locations', () => {
  it.each([7, 50, 100])(
    'gives each once, by slug, those without one last, then by id, in pages of %d',
    async (limit) => {
      const ids: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const next = await list(`limit=${limit}${cursor && `&cursor=${cursor}`}`);
        ids.push(...next.data.map(({ id }) => id));
        cursor = next.next_cursor;
      }
      expect(ids).toEqual(inOrder(stored));
    },
  );

  it('cuts names to the languages asked for', async () => {
    expect(Object.keys((await list('limit=1&locale=fr')).data[0]?.name ?? {})).toEqual(['fr']);
    expect((await list('limit=1&locale=es')).data[0]?.name).toEqual({});
    const error = await expectError(await get(`${LIST}?locale=de`), 400, 'validation_error');
    expect(error.param).toBe('locale');
  });

  it('takes no cursor of another list, and its cursors fit no other', async () => {
    const { next_cursor } = await list('limit=1');
    for (const path of ['properties?cursor=', 'property-changes?after=']) {
      const response = await get(`/api/v1/web/${path}${next_cursor}`);
      await expectError(response, 400, 'invalid_cursor');
    }
  });
});
