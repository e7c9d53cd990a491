/**
 * Query parameters that a list or an item refuses, with the right name where it is known, and parameters that it
 * ignores.
 */

import { expect, it } from 'vitest';
import { expectError, expectStatus, get } from '../support/http.ts';

const LIST = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const EVENTS = '/api/v1/events';
const KNOWN =
  /^is not a parameter here: known are type, status, (\w+, )*location_id, (\w+, )*limit, (\w+, )*cursor/;

it.each([
  ['status[]', 'use status'],
  ['type[0]', 'use type'],
  ['status[][0]', 'use status'],
  ['Location_ID[a b]', 'use location_id'],
  ['LIMIT', 'use limit'],
  ['Limit', 'use limit'],
  ['starting_after', 'page with cursor'],
  ['ending_before', 'page with cursor'],
  ['page', 'page with cursor'],
  ['offset', 'page with cursor'],
  ['page_token', 'page with cursor'],
  ['next_cursor', 'page with cursor'],
  ['page[size]', 'page with cursor'],
  ['page[cursor]', 'page with cursor'],
  ['after', 'page with cursor'],
  ['resume_cursor', 'page with cursor'],
  ['lang', 'use locale'],
  ['language', 'use locale'],
  ['LANG[]', 'use locale'],
  ['location_slug', 'use location'],
  ['Location_Slug[]', 'use location'],
])('%j is refused: %s', async (name, advice) => {
  const response = await get(`${LIST}?${encodeURIComponent(name)}=1`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.details).toEqual([{ path: name, message: `is not a parameter here: ${advice}` }]);
});

it('a refused name is repeated up to 500 characters', async () => {
  const response = await get(`${LIST}?status[${'x'.repeat(5_000)}]=1`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.param).toBe(`status[${'x'.repeat(493)}…`);
  expect(error.details?.[0]?.path).toBe(error.param);
});

it.each([
  [CHANGES, 'cursor', 'page with after'],
  [CHANGES, 'resume_cursor', 'page with after'],
  [EVENTS, 'event_type', 'use type'],
  [EVENTS, 'after', 'page with cursor'],
  [EVENTS, 'resume_cursor', 'page with cursor'],
  [`${LIST}/some-home`, 'lang', 'use locale'],
])('%s refuses %s: %s', async (path, name, advice) => {
  const error = await expectError(await get(`${path}?${name}=1`), 400, 'validation_error');
  expect(error.details).toEqual([{ path: name, message: `is not a parameter here: ${advice}` }]);
});

it.each([
  'sort',
  'bedrooms',
  'event_type',
  'status[',
  'status]',
  'status[]x',
  '[]status',
  'status[[]]',
  'utm[source]',
  'constructor',
  `${'[]'.repeat(7_900)}x`,
  '['.repeat(16_000),
])('%j is refused with the names of the known parameters', async (name) => {
  const response = await get(`${LIST}?${encodeURIComponent(name)}=1`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.details).toEqual([
    { path: expect.any(String), message: expect.stringMatching(KNOWN) },
  ]);
});

it.each([
  'utm_source',
  'UTM_Campaign',
  '_ga',
  '__proto__[]',
  'gclid',
  'fbclid',
  'msclkid',
  'dclid',
  'gbraid',
  'mc_eid',
])('%s, which links append, is ignored', async (name) => {
  await expectStatus(await get(`${LIST}?${name}=1&${name}=2`), 200);
  await expectError(await get(`${LIST}/no-home?${name}=1`), 404, 'resource_missing');
  await expectError(await get(`${EVENTS}/no-event?${name}=1`), 404, 'resource_missing');
});

it('an item without parameters refuses each by name', async () => {
  const error = await expectError(
    await get(`${EVENTS}/no-event?expand=1`),
    400,
    'validation_error',
  );
  expect(error.details).toEqual([
    { path: 'expand', message: 'is not a parameter here: known are none' },
  ]);
});

it.each([
  ['status=nope', 'nope is none of listed, coming_soon, sold_out'],
  ['status=listed,nope', 'nope is none of listed, coming_soon, sold_out'],
  ['status=listed&status=hidden', 'hidden is none of listed, coming_soon, sold_out'],
  ['status=listed,', 'an empty value is none of listed, coming_soon, sold_out'],
  ['type=house', 'house is none of beach, ski'],
  ['locale=de', 'de is none of en, es, fr'],
  [`type=${'x'.repeat(600)}`, `${'x'.repeat(500)}… is none of beach, ski`],
])('a bad value is named: %s', async (query, message) => {
  const error = await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
  expect(error.details).toEqual([{ path: query.split('=')[0], message }]);
});
