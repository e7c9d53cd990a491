/** The list of property changes, which returns each change to a reader exactly once. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { changeList } from '../../src/properties/openapi/property.ts';
import type { Source } from '../../src/properties/source.ts';
import { expectError, expectStatus, get, sendWith } from '../support/http.ts';
import { interceptD1 } from '../support/interceptor.ts';
import { makeListing, storeListings } from '../support/listings.ts';

const CHANGES = '/api/v1/web/property-changes';

type Page = z.infer<typeof changeList>;

beforeEach(async () => {
  await env.DB.prepare('DELETE FROM properties').run();
});

async function read(query = ''): Promise<Page> {
  const response = await get(`${CHANGES}${query}`);
  await expectStatus(response, 200);
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  expect(response.headers.has('ETag')).toBe(false);
  const page = changeList.parse(await response.json());
  if (page.has_more) expect(page.next_cursor).toBe(page.resume_cursor);
  return page;
}

/** Reads all pages of the list, from a cursor or from the beginning. */
async function readAll({ after, limit = 2 }: { after?: string | undefined; limit?: number } = {}) {
  const items: Page['data'] = [];
  let cursor = after;
  for (;;) {
    const page = await read(`?limit=${limit}${cursor === undefined ? '' : `&after=${cursor}`}`);
    items.push(...page.data);
    cursor = page.resume_cursor;
    if (!page.has_more) return { items, resume: cursor };
  }
}

const store = (...listings: Source[]) => storeListings(env.DB, listings);

/** Hides a stored listing as an import would. */
async function hide({ id }: Source): Promise<void> {
  await env.DB.prepare(
    `UPDATE properties SET change_seq = (SELECT max(change_seq) FROM properties) + 1,
       removed_slug = slug, slug = 'secret-' || slug, status = 'hidden', document = NULL
     WHERE id = ?`,
  )
    .bind(id)
    .run();
}

const homes = (count: number) => Array.from({ length: count }, () => makeListing());
const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id);
const summarise = (items: Page['data']) => items.map(({ id, change }) => `${change} ${id}`);

describe('a reader without a cursor', () => {
  it('gets each public listing once but no removals', async () => {
    const old = homes(4);
    await store(...old, makeListing({ status: 'hidden' }));
    const [a, b, c] = [makeListing(), makeListing({ status: 'sold_out' }), makeListing()];
    await store(a, b, c);
    await hide(a);
    const { items } = await readAll();
    expect(ids(items)).toEqual([...ids(old), b.id, c.id]);
    expect(items.every(({ change, property }) => change === 'published' && property)).toBe(true);
    expect(items.at(-1)?.changed_at).toBe('2027-01-15T08:00:00.000Z');
  });

  it('gets has_more=true only if another listing follows', async () => {
    const gone = makeListing();
    await store(...homes(2), gone);
    expect((await read('?limit=2')).has_more).toBe(true);
    await hide(gone);
    expect((await read('?limit=2')).has_more).toBe(false);
  });

  it('can resume from an empty store', async () => {
    const nothing = await read();
    expect(nothing).toMatchObject({ data: [], has_more: false, next_cursor: null });
    const home = makeListing();
    await store(home);
    expect(ids((await read(`?after=${nothing.resume_cursor}`)).data)).toEqual([home.id]);
  });
});

describe('a reader that resumes', () => {
  it('gets each changed or hidden listing once, in the order of the latest changes', async () => {
    const [a, b, c, d] = [makeListing(), makeListing(), makeListing(), makeListing()];
    await store(a, b, c, d);
    const { resume } = await readAll();
    expect((await read(`?after=${resume}`)).resume_cursor).toBe(resume);
    await store({ ...b, name: 'Twice' });
    await hide(a);
    await store({ ...b, name: 'Changed' });
    await hide(d);
    await store(d);
    const next = await readAll({ after: resume, limit: 1 });
    expect(summarise(next.items)).toEqual([
      `removed ${a.id}`,
      `published ${b.id}`,
      `published ${d.id}`,
    ]);
    expect(next.items[1]?.property?.name).toBe('Changed');
  });

  it('sees only the id and the last public slug of a hidden listing', async () => {
    const secret = makeListing({ name: 'Very secret' });
    await store(secret);
    const { resume } = await readAll();
    await hide(secret);
    const response = await get(`${CHANGES}?after=${resume}`);
    const text = await response.clone().text();
    expect(text).not.toMatch(/secret/i);
    expect((await response.json<Page>()).data).toEqual([
      {
        object: 'property_change',
        id: secret.id,
        slug: secret.slug,
        former_slugs: [],
        change: 'removed',
        changed_at: '2027-01-15T08:00:00.000Z',
        property: null,
      },
    ]);
  });
});

describe('wait', () => {
  it('delays an empty response until there is a change', async () => {
    const { resume } = await readAll();
    const home = makeListing();
    const waiting = read(`?after=${resume}&wait=25`);
    await store(home);
    expect(ids((await waiting).data)).toEqual([home.id]);
    await env.DB.exec(`UPDATE properties SET former_slugs = '["before"]'`);
    expect((await read(`?after=${resume}&wait=25`)).data[0]?.former_slugs).toEqual(['before']);
  });

  it('is rejected without a cursor', async () => {
    const error = await expectError(await get(`${CHANGES}?wait=1`), 400, 'validation_error');
    expect(error.param).toBe('wait');
  });
});

describe('the list of changes', () => {
  it('rejects a cursor from another generation of the database', async () => {
    await store(...homes(3));
    const { resume_cursor, next_cursor } = await read('?limit=1');
    const { resume } = await readAll();
    await env.DB.prepare("UPDATE database_identity SET generation = 'another'").run();
    for (const cursor of [resume_cursor, next_cursor, resume]) {
      const response = await get(`${CHANGES}?after=${cursor}`);
      expect((await expectError(response, 400, 'invalid_cursor')).param).toBe('after');
    }
    expect((await readAll()).items).toHaveLength(3);
  });

  it('is read from the primary even while the feed is cached', async () => {
    const constraints: unknown[] = [];
    const DB = interceptD1(env.DB, (call, constraint) => {
      constraints.push(constraint);
      return call();
    });
    for (let times = 0; times < 2; times += 1) {
      await sendWith({ DB, FEED_CACHE_SECONDS: '60' }, CHANGES);
    }
    expect(constraints).toEqual(['first-primary', 'first-primary']);
  });
});
