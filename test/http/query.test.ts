/**
 * Query parameters beside the contract of each list: the names that are suggested, ignored and
 * rejected.
 */

import { expect, it } from 'vitest';
import { expectError, expectStatus, get } from '../support/http.ts';

const LIST = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
const KNOWN =
  /^is not a parameter here: known are type, (\w+, )*status, (\w+, )*location_id, (\w+, )*limit, (\w+, )*cursor/;

it.each([
  [LIST, 'Location_ID[a b]', 'use location_id'],
  [LIST, 'lang', 'use locale'],
  [LIST, 'location_slug', 'use location'],
  [EVENTS, 'event_type', 'use type'],
  [`${LIST}/some-home`, 'lang', 'use locale'],
  [`${EVENTS}/no-event`, 'expand', 'known are none'],
])('%s rejects %j: %s', async (path, name, advice) => {
  const response = await get(`${path}?${encodeURIComponent(name)}=1`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.details).toEqual([{ path: name, message: `is not a parameter here: ${advice}` }]);
});

it.each([
  'event_type',
  'status[]x',
  'status[[]]',
  'utm[source]',
  'constructor',
  `status[${'['.repeat(16_000)}]`,
])('%j is rejected with the names of the known parameters', async (name) => {
  const response = await get(`${LIST}?${encodeURIComponent(name)}=1`);
  const error = await expectError(response, 400, 'validation_error');
  // A name is repeated up to 500 characters.
  const path = name.length > 500 ? `${name.slice(0, 500)}…` : name;
  expect(error.details).toEqual([{ path, message: expect.stringMatching(KNOWN) }]);
});

it.each('utm_source UTM_Campaign _ga __proto__[] gclid mc_eid gad_source igsh ref t'.split(' '))(
  '%s, which links and scripts append, is ignored',
  async (name) => {
    await expectStatus(await get(`${LIST}?${name}=1&${name}=2`), 200);
    await expectError(await get(`${EVENTS}/no-event?${name}=1`), 404, 'resource_missing');
  },
);

it.each([
  [LIST, 'status[]=listed&status[]=sold_out', 'status=listed,sold_out'],
  [LIST, 'locale[]=en&locale=fr', 'locale=en,fr'],
  [EVENTS, 'type[]=a&type[]=b', 'type=a,b'],
])('%s?%s is %s: clients write brackets behind a repeated name', async (path, brackets, plain) => {
  const [one, other] = [await get(`${path}?${brackets}`), await get(`${path}?${plain}`)];
  await expectStatus(one, 200);
  expect(await one.json()).toEqual(await other.json());
});

it('a parameter that may not be repeated has no brackets', async () => {
  const response = await get(`${LIST}?limit[]=3`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.details).toEqual([
    { path: 'limit[]', message: 'is not a parameter here: use limit' },
  ]);
});

it.each([
  [LIST, 'type', 1_000],
  [LIST, 'status', 1_000],
  [EVENTS, 'created_after', 1_000],
  [EVENTS, 'id', 3_800],
])('%s rejects a longer value of %s than any value needs', async (path, name, longest) => {
  const problem = { path: name, message: `must be at most ${longest} characters long` };
  for (const [length, isTooLong] of [
    [longest, false],
    [longest + 1, true],
  ] as const) {
    const response = await get(`${path}?sort=1&${name}=${'x'.repeat(length)}`);
    const error = await expectError(response, 400, 'validation_error');
    expect(error.details).toHaveLength(2);
    if (isTooLong) expect(error.details?.[1]).toEqual(problem);
    else expect(error.details?.[1]).not.toEqual(problem);
  }
});

it.each([
  [LIST, 'status=listed,%20sold_out&locale=en%20,+fr', 'status=listed,sold_out&locale=en,fr'],
  [EVENTS, 'type=%20a%20,b&order=asc', 'type=a,b&order=asc'],
])('spaces around the values of a list are ignored: %s?%s', async (path, spaced, plain) => {
  const [one, other] = [await get(`${path}?${spaced}`), await get(`${path}?${plain}`)];
  await expectStatus(one, 200);
  expect(await one.json()).toEqual(await other.json());
  for (const query of ['status=listed,%20', 'status=%20', 'status=lis%20ted']) {
    await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
  }
});

it.each(['2027-01-01T00:00:00+02:00', '2027-01-01T00:00+0200', '2027-01-01T00:00:00.5+02'])(
  'created_after=%s, whose + arrives as a space, gets the advice to escape it',
  async (time) => {
    const response = await get(`${EVENTS}?created_after=${time}`);
    const error = await expectError(response, 400, 'validation_error');
    expect(error.message).toMatch(/ISO 8601.*; the \+ of its offset became a space: .* write %2B$/);
    await expectStatus(await get(`${EVENTS}?created_after=${time.replace('+', '%2B')}`), 200);
  },
);
