import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, get } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

describe('GET /api/v1/web/properties', () => {
  beforeAll(async () => {
    await storeListings(
      env.DB,
      Array.from({ length: 30 }, (_, index) => sourceOf({ display_order: index })),
    );
  });

  it('gives the first 25 listings and a cursor', async () => {
    const response = await get('/api/v1/web/properties');
    await expectStatus(response, 200);
    const page = await response.json<{ data: unknown[]; has_more: boolean }>();
    expect(page.data).toHaveLength(25);
    expect(page.has_more).toBe(true);
  });
});
