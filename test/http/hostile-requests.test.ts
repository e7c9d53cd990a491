/** Malformed and random paths, queries, cursors, headers and methods. */

import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import {
  CANARY,
  expectHarmless,
  expectWell,
  hostileHeader,
  hostileText,
  runs,
} from '../support/hostile.ts';
import { get, send } from '../support/http.ts';
import { storeRow } from '../support/lists.ts';

const FEED = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';
/**
 * Every route that is read with a credential, with a name that no resource has in place of its
 * path's parameter.
 */
const READABLE = [
  ...new Set(
    createApp()
      .routes.filter(({ method, path }) => method === 'GET' && !path.startsWith('/api/health'))
      .map(({ path }) => path.replace(/:\w+/, 'some-name')),
  ),
];

const page = z.object({ object: z.literal('list'), next_cursor: z.string().nullable() });
/** The content of a cursor: version, list, filters, position. */
const content = z.tuple([z.number(), z.string(), z.string(), z.unknown()]);

vi.setConfig({ testTimeout: 120_000 });

beforeAll(async () => {
  for (let index = 0; index < 5; index += 1) await storeRow(2 * index, index, `place-${index}`);
});

afterEach(expectWell);

/** Returns every list: where its cursors are sent to, and the content of one of them. */
async function findLists() {
  const lists = await Promise.all(
    READABLE.map(async (path) => {
      const first = page.safeParse(await (await get(`${path}?limit=2`)).json());
      if (!first.success) return [];
      const { next_cursor } = first.data;
      if (next_cursor === null) throw new Error(`storeRow stores no row for ${path}`);
      const bytes = Uint8Array.fromBase64(next_cursor, { alphabet: 'base64url' });
      const own = content.parse(JSON.parse(new TextDecoder().decode(bytes.subarray(8))));
      const isCursor = (await get(`${path}?cursor=${next_cursor}`)).status === 200;
      return [{ to: `${path}?${isCursor ? 'cursor' : 'after'}=`, own }];
    }),
  );
  return lists.flat();
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Parts of a path that are encoded badly, or twice. */
const hostilePart = fc.constantFrom(
  ...[
    '%00',
    '%',
    '%zz',
    '%ff',
    '%c0%ae%c0%ae',
    '%2e%2e%2f',
    '..;/',
    'a%2Fb',
    '%252e',
    '%0d%0aX: y',
  ],
  `a${'%20'.repeat(2_000)}`,
  'a'.repeat(8_000),
);

it('a path of random text is not found or not allowed, under any method', async () => {
  const methods = 'GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND QUERY'.split(' ');
  const words = 'api v1 v2 web public events properties docs .env .git admin .. .'.split(' ');
  const segment = fc.oneof(fc.constantFrom(...words, ''), hostileText.map(encoded));
  const segments = fc.array(segment, { maxLength: 6 }).map((path) => `/${path.join('/')}`);
  const item = fc
    .tuple(fc.constantFrom(FEED, EVENTS), fc.oneof(hostileText.map(encoded), hostilePart))
    .map((path) => path.join('/'));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', ...methods),
      fc.oneof(segments, item),
      async (method, path) => {
        const response = await send(path, { method });
        if (method === 'HEAD') expect([200, 404]).toContain(response.status);
        else await expectHarmless(response, [200, 400, 404, 405, 415]);
      },
    ),
    runs(400),
  );
});

describe('a query', () => {
  const path = fc.constantFrom(...READABLE);
  const parameters = [
    'type status location_id location limit cursor after fresh wait id locale order after_id page',
    'aggregate_id aggregate_type created_after created_before __proto__ limit[] limit[$gt]',
  ].flatMap((names) => names.split(' '));
  const name = fc.oneof(fc.constantFrom(...parameters), hostileText);
  const values = [
    'listed|beach|slug,title|en,fr|asc|25|0|+1| 1|1e1|0x10|١|5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42',
    '2027-01-01T00:00:00Z|0000-01-01T00:00:00Z|9999-12-31T23:59:59+23:59',
    '9'.repeat(400),
  ].flatMap((texts) => texts.split('|'));
  const value = fc.oneof(hostileText, fc.constantFrom(...values));
  const query = fc.array(fc.tuple(name, value), { maxLength: 5 });

  it("with random parameters gets a response, or is rejected by the parameter's name", async () => {
    await fc.assert(
      fc.asyncProperty(path, query, fc.boolean(), async (readable, pairs, isEncoded) => {
        const texts = [...pairs, ['utm_source', CANARY]].map((pair) =>
          pair.map((each) => (isEncoded ? encoded(each) : each)).join('='),
        );
        await expectHarmless(await get(`${readable}?${texts.join('&')}`), [200, 400, 404]);
      }),
      runs(500),
    );
  });
});

describe('a cursor', () => {
  it('can be forged, and leads to rows that its sender may list anyway', async () => {
    const [feed] = (await findLists()).filter(({ to }) => to.startsWith(`${FEED}?`));
    const place = [2, '00000000-0000-4000-8000-000000000000'];
    const forged = await forge(JSON.stringify(feed?.own.with(3, place)));
    const { data } = await (await get(`${feed?.to}${forged}`)).json<{ data: unknown[] }>();
    expect(data).toHaveLength(3);
  });

  it('of any list that is forged with a valid check gets a page or is invalid', async () => {
    const lists = await findLists();
    expect(lists.length).toBeGreaterThan(4);
    const positions = fc.oneof(
      fc.jsonValue(),
      fc.tuple(fc.oneof(fc.integer(), fc.double()), hostileText),
      fc.tuple(fc.integer(), fc.uuid()),
      fc.tuple(fc.integer(), fc.uuid(), fc.integer()),
      fc.tuple(fc.integer()),
      fc.integer(),
      fc.double(),
    );
    const changes = fc.constantFrom(
      (text: string) => text,
      (text: string) => text.slice(0, -1),
      (text: string) => `${text}]`,
      () => '',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...lists),
        positions,
        changes,
        async ({ to, own }, position, change) => {
          const text = change(JSON.stringify(own.with(3, position)));
          await expectHarmless(await get(`${to}${await forge(text)}`), [200, 400]);
        },
      ),
      runs(250),
    );
  });
});

/** A cursor as the service would write it around any text: the check is no secret. */
async function forge(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const check = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).subarray(0, 8);
  const options = { alphabet: 'base64url', omitPadding: true } as const;
  return new Uint8Array([...check, ...bytes]).toBase64(options);
}

describe('a header', () => {
  const NAMES = [
    'X-Request-ID x-api-key Authorization If-None-Match Origin Content-Type Content-Encoding Cookie',
    'CF-Connecting-IP CF-Worker X-Forwarded-For Range Accept X-HTTP-Method-Override',
  ].flatMap((names) => names.split(' '));

  it('that is random text is no 5xx', async () => {
    const path = fc.constantFrom(...READABLE, INGEST);
    await fc.assert(
      fc.asyncProperty(path, fc.constantFrom(...NAMES), hostileHeader, async (to, name, value) => {
        const isIngest = to === INGEST;
        const headers = { ...(isIngest && { 'Content-Type': 'application/json' }), [name]: value };
        const init = isIngest ? { method: 'POST', headers, body: '{}' } : { headers };
        // Clients without a readable address are counted as one, and they are many here.
        const limited = name === 'CF-Connecting-IP' ? [429] : [];
        const statuses = isIngest ? [400, 401, 415] : [200, 304, 401, 404];
        await expectHarmless(await send(to, init), [...statuses, ...limited]);
      }),
      runs(420),
    );
  });
});
