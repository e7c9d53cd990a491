/** The program of docs/typed-client.md that uses `hc`, word for word: typed-client.test.ts runs it. */

import { hc } from 'hono/client';
import type { Service } from '../../src/app.ts';

const headers = { 'x-api-key': process.env.API_KEY ?? '' };
const client = hc<Service>(process.env.API_URL ?? 'http://localhost:3001', { headers });
const {
  properties,
  locations,
  'property-cards': cards,
  'property-changes': changes,
} = client.api.v1.web;

const list = await properties.$get({ query: { status: ['sold_out', 'coming_soon'], limit: '20' } });
if (list.ok) {
  const { data, next_cursor } = await list.json();
  console.log(
    data.map(({ slug }) => slug),
    next_cursor,
  );
} else if (list.status !== 304) {
  const { error } = await list.json();
  console.error(error.code, error.message);
}

const overview = await cards.$get({ query: { location: 'sardinia', locale: 'en', limit: '3' } });
if (overview.ok) {
  for (const { slug, title } of (await overview.json()).data) console.log(slug, title.en);
}

const places = await locations.$get({ query: { locale: 'en' } });
if (places.ok) {
  for (const { id, name } of (await places.json()).data) console.log(id, name.en);
}

const news = await changes.$get({ query: { locale: 'en', limit: '100' } });
if (news.ok) {
  const { data, resume_cursor } = await news.json();
  console.log(data.filter(({ change }) => change === 'published').length, resume_cursor);
}
