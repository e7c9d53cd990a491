/** Hostile input, and the expectation that no response to it gives anything away. */

import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect } from 'vitest';
import * as z from 'zod';
import { expectError } from './http.ts';

/**
 * Returns the number of cases of a property: half of the usual ones, and eight times as many with
 * `FULL=1`.
 */
export function runs(usual: number): { numRuns: number } {
  return { numRuns: env.TEST_FULL === '1' ? usual * 8 : Math.ceil(usual / 2) };
}

/** A value that tests send where no response may repeat it. */
export const CANARY = 'canary-5b1f6e';

export const NAUGHTY = env.TEST_NAUGHTY_STRINGS;

/** Any text: mostly an attack on parsers of paths, SQL, headers and logs. */
export const hostileText = fc.oneof(
  fc.constantFrom(...NAUGHTY),
  fc.constantFrom("' OR '1'='1", '..%2f..%2f', '%ff%fe', 'a\0b', '\ud800', '__proto__', '-0'),
  fc.constantFrom('1e400', '9007199254740993', '%zz', '[object Object]', 'a'.repeat(5_000)),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
);

/** SQL, stacks, files, libraries and storage: a caller must learn nothing of the inside. */
const INTERNAL =
  /SQLITE|D1_|\bselect\b.*\bfrom\b|constraint failed|prepared statement|drizzle|\bzod\b|jose|hono|node_modules|\.(ts|mjs|js|sql)\b|\bat \S+ \(|TypeError|RangeError|SyntaxError|Unexpected token|undefined|\[object/i;

const errorTexts = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    param: z.string().default(''),
    details: z.array(z.object({ message: z.string() })).default([]),
  }),
});

/**
 * Expects one of the statuses. The message of an error may say nothing of the inside, nor repeat
 * `CANARY`. The body is compared with the document where the response is received.
 */
export async function expectHarmless(response: Response, statuses: readonly number[]) {
  const text = await response.clone().text();
  expect(statuses, `${response.status}: ${text.slice(0, 500)}`).toContain(response.status);
  if (response.status < 400) return;
  const { error } = errorTexts.parse(JSON.parse(text));
  await expectError(response.clone(), response.status, error.code);
  // The message names the wrong field as the caller wrote it.
  const summary = error.message.replace(`${error.param}: `, '');
  for (const written of [summary, ...error.details.map((detail) => detail.message)]) {
    // A bad value is named as it was sent, in front of the known values.
    const message = written.replace(/^.* is none of /s, 'is none of ');
    expect(message).not.toMatch(INTERNAL);
    expect(message).not.toContain(CANARY);
  }
}
