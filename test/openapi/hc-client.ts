/** The program of docs/typed-client.md that uses `hc`, word for word: typed-client.test.ts runs it. */

import { hc } from 'hono/client';
import type { Service } from '../../src/app.ts';

/** The whole listing of the two types that the document has for one. */
type Whole<Listing> = Extract<Listing, { is_early_access: boolean }>;

/** Reports whether a listing is whole. Use it on answers to requests without `fields`. */
const isWhole = <Listing extends { id: string }>(listing: Listing): listing is Whole<Listing> =>
  'is_early_access' in listing;

const headers = { 'x-api-key': process.env.API_KEY ?? '' };
const client = hc<Service>(process.env.API_URL ?? 'http://localhost:3001', { headers });
const { properties, locations, 'property-changes': changes } = client.api.v1.web;

const list = await properties.$get({ query: { status: ['sold_out', 'coming_soon'], limit: '20' } });
if (list.ok) {
  const { data, next_cursor } = await list.json();
  console.log(
    data.filter(isWhole).map(({ slug }) => slug),
    next_cursor,
  );
} else if (list.status !== 304) {
  const { error } = await list.json();
  console.error(error.code, error.message);
}

const cards = await properties.$get({ query: { fields: 'slug,title', locale: 'en', limit: '3' } });
if (cards.ok) {
  for (const { slug, title } of (await cards.json()).data) console.log(slug, title?.en);
}

const places = await locations.$get({ query: { locale: 'en' } });
if (places.ok) {
  for (const { id, name } of (await places.json()).data) console.log(id, name.en);
}

const news = await changes.$get({ query: { fields: 'slug', limit: '100' } });
if (news.ok) {
  const { data, resume_cursor } = await news.json();
  console.log(data.filter(({ change }) => change === 'published').length, resume_cursor);
}
