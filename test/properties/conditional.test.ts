import { expect, it } from 'vitest';
import { makeAnswer, matchesEtag } from '../../src/properties/cache.ts';

it('tags equal bytes alike and other bytes otherwise, strongly', async () => {
  const tags = await Promise.all(
    ['a', 'a', 'b'].map(async (text) => (await makeAnswer(text, 0)).etag),
  );
  expect(tags[0]).toMatch(/^"[0-9a-f]{32}"$/);
  expect(tags[0]).toBe(tags[1]);
  expect(tags[0]).not.toBe(tags[2]);
});

it.each([
  [undefined, false],
  ['', false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b"', false],
  ['"b", "a"', true],
  ['"b",W/"a"', true],
  ['*', true],
  ['a', false],
])('compares If-None-Match %j with "a": %j', (header, expected) => {
  expect(matchesEtag(header, '"a"')).toBe(expected);
});
