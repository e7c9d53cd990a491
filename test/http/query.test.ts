/** The names of query parameters that a list refuses because they are nearly those that it has. */

import { expect, it } from 'vitest';
import { expectError, expectStatus, get } from '../support/http.ts';

const LIST = '/api/v1/web/properties';

it.each([
  ['status[]', 'use status'],
  ['type[0]', 'use type'],
  ['status[][0]', 'use status'],
  ['Location_ID[a b]', 'use location_id'],
  ['LIMIT', 'use limit'],
  ['page[size]', 'page with cursor'],
  ['page[cursor]', 'page with cursor'],
])('%j is refused: %s', async (name, advice) => {
  const response = await get(`${LIST}?${encodeURIComponent(name)}=1`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.details).toEqual([
    { path: name, message: `is not a parameter of this list: ${advice}` },
  ]);
});

it('a refused name is repeated up to 500 characters', async () => {
  const response = await get(`${LIST}?status[${'x'.repeat(5_000)}]=1`);
  const error = await expectError(response, 400, 'validation_error');
  expect(error.param).toBe(`status[${'x'.repeat(493)}…`);
  expect(error.details?.[0]?.path).toBe(error.param);
});

it.each([
  'status[',
  'status]',
  'status[]x',
  '[]status',
  'status[[]]',
  '[]',
  'utm[source]',
  'constructor',
  '__proto__[]',
  `${'[]'.repeat(7_900)}x`,
  '['.repeat(16_000),
])('%j is ignored', async (name) => {
  await expectStatus(await get(`${LIST}?${encodeURIComponent(name)}=1`), 200);
});
