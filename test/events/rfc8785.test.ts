/**
 * The vectors of the author of RFC 8785: input and output are one body. The data file names its
 * source and licence.
 */

import canonicalize from 'canonicalize';
import { expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import rfc8785 from './rfc8785.json';

it.each(rfc8785.vectors)('$name has the canonical form of its author', ({ input, output }) => {
  expect(canonicalize(JSON.parse(input))).toBe(output);
});

// `values` holds 1E30, which JavaScript cannot tell from its neighbours: a body with it is
// rejected.
const accepted = rfc8785.vectors.filter(({ name }) => name !== 'values');

it.each(accepted)('$name is one body with its canonical form', async ({ input, output }) => {
  const key = crypto.randomUUID();
  const text = JSON.stringify(bookingCreated({ payload: { vector: 'here' } }));
  const post = (vector: string) =>
    ingest(
      text.replace('"here"', () => vector),
      key,
    );
  const first = await expectEvent(await post(input), 202);
  expect((await expectEvent(await post(output), 200)).id).toBe(first.id);
});
