/** Query parameters that are ignored, rejected, or read as a list. */

import { expect, it } from 'vitest';
import { document, getQueryNames } from '../support/documented.ts';
import { expectError, expectProblems, expectStatus, get } from '../support/http.ts';

const LIST = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
const NAMES =
  'The parameters are type, status, location_id, location, locale, fresh, limit, cursor';
const UNKNOWN = `is not a parameter here. ${NAMES}`;
const LONG = `status[${'['.repeat(16_000)}`;
const STATUSES = 'listed, coming_soon, sold_out';
const UUID = crypto.randomUUID();

it.each<[query: string, path: string, message: string]>([
  ['status[]x=1', 'status[]x', UNKNOWN],
  ['status[[]]=1', 'status[[]]', UNKNOWN],
  ['utm[source]=1', 'utm[source]', UNKNOWN],
  ['constructor=1', 'constructor', UNKNOWN],
  // The message repeats at most 500 characters of a name.
  [`${LONG}=1`, `${LONG.slice(0, 500)}…`, UNKNOWN],
  ['limit=0&sort=1', 'sort', UNKNOWN],
  ['limit=1&limit=1', 'limit', 'must be sent once'],
  ['cursor=a&cursor=a', 'cursor', 'must be sent once'],
  ['fresh=true&fresh=true', 'fresh', 'must be sent once'],
  ['status=listed,%20', 'status', `an empty value is not one of ${STATUSES}`],
  ['status=lis%20ted', 'status', `lis ted is not one of ${STATUSES}`],
  ['status[]=listed&status[]=', 'status', `an empty value is not one of ${STATUSES}`],
  ['status[]=no&status=listed', 'status', `no is not one of ${STATUSES}`],
  ['status=no&status[]=listed', 'status', `no is not one of ${STATUSES}`],
  // The values are read in the order in which they were sent.
  ['status[1]=first&status[0]=no', 'status', `first is not one of ${STATUSES}`],
  ['status[a]=listed', 'status[a]', UNKNOWN],
  ['status[0][0]=listed', 'status[0][0]', UNKNOWN],
])('rejects the query %s', async (query, path, message) => {
  const error = await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
  expect(error.param).toBe(path);
  expect(error.details?.[0]).toEqual({ path, message: expect.stringContaining(message) });
});

it.each('utm_source UTM_Campaign _ga __proto__[] gclid mc_eid gad_source igsh ref t'.split(' '))(
  'ignores %s, which links and scripts append',
  async (name) => {
    await expectStatus(await get(`${LIST}?${name}=1&${name}=2`), 200);
  },
);

it.each([
  [LIST, 'status[]=listed&status[]=sold_out', 'status=listed,sold_out'],
  [LIST, 'status[0]=listed&status[1]=sold_out', 'status=listed,sold_out'],
  [LIST, 'status%5B7%5D=sold_out&status%5B7%5D=listed', 'status=listed,sold_out'],
  [LIST, 'locale[]=en&locale=fr&locale[12]=es', 'locale=en,fr,es'],
  [LIST, 'status=listed,%20sold_out&locale=en%20,+fr', 'status=listed,sold_out&locale=en,fr'],
  [EVENTS, 'type[]=a&type[]=b', 'type=a,b'],
  [EVENTS, `id[0]=${UUID}&id[1]=${UUID}`, `id=${UUID}`],
  [EVENTS, 'type=%20a%20,b&order=asc', 'type=a,b&order=asc'],
])('reads %s?%s as %s', async (path, written, plain) => {
  const [one, other] = [await get(`${path}?${written}`), await get(`${path}?${plain}`)];
  await expectStatus(one, 200);
  expect(await one.json()).toEqual(await other.json());
});

it('reports an invalid cursor together with other problems', async () => {
  const response = await get(`${EVENTS}?cursor=x&wait=0`);
  await expectProblems(response, ['cursor', 'wait']);
});

const repeat = (value: string, count: number, separator = ', ') =>
  Array(count).fill(value).join(separator);
const makeTimestamp = (digits: number) => `2027-01-01T00:00:00.${'0'.repeat(digits)}Z`;
const TYPE = 'x'.repeat(255);

// The last value of each row is invalid only because of its length.
it.each([
  [LIST, 'status', repeat('listed', 143, ','), repeat('listed', 143)],
  [LIST, 'limit', '25'.padStart(300, '0'), '25'.padStart(301, '0')],
  [EVENTS, 'created_after', makeTimestamp(100), makeTimestamp(101)],
  [EVENTS, 'id', repeat(UUID, 100), `${repeat(UUID, 100)}   `],
  [EVENTS, 'type', repeat(TYPE, 50), `${repeat(TYPE, 50)}   `],
])('limits the length of a parameter (%s, %s)', async (path, name, longest, longer) => {
  await expectStatus(await get(`${path}?${name}=${longest}`), 200);
  const response = await get(`${path}?${name}=${encodeURIComponent(longer)}`);
  expect((await expectError(response, 400, 'validation_error')).param).toBe(name);
});

const parameters = Object.keys(document.paths ?? {}).flatMap((path) =>
  getQueryNames(path).map((name) => [path.replace(/\{\w+\}/, 'no-such-thing'), name] as const),
);

it.each(parameters)('rejects an empty or very long parameter (%s, %s)', async (path, name) => {
  const code = /^(cursor|after)$/.test(name) ? 'invalid_cursor' : 'validation_error';
  for (const value of ['', 'x'.repeat(13_000), '1'.repeat(13_000)]) {
    const response = await get(`${path}?${name}=${value}`);
    const { param, message } = await expectError(response, 400, code);
    expect(param).toBe(name);
    if (code === 'invalid_cursor') {
      const reason =
        value === ''
          ? 'is empty. Leave it out for the first page.'
          : 'does not belong to this list';
      expect(message).toContain(`The cursor ${reason}`);
    }
  }
});
