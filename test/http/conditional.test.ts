import { expect, it } from 'vitest';
import { etagOf, matchesEtag } from '../../src/http/conditional.ts';

it('tags equal bytes alike and other bytes otherwise, strongly', async () => {
  const tags = await Promise.all(
    ['a', 'a', 'b'].map((text) => etagOf(new TextEncoder().encode(text))),
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
