/** Hostile input, and the expectation that no response to it gives anything away. */

import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect } from 'vitest';
import * as z from 'zod';
import { expectError, expectStatus, get } from './http.ts';

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

/**
 * Texts that break parsers of paths, SQL, headers and logs, and that the list of naughty strings
 * lacks.
 */
const ATTACKS = [
  "' OR '1'='1",
  "'; DROP TABLE properties; --",
  '1 UNION SELECT name FROM sqlite_master',
  '" OR ""="',
  '../../etc/passwd',
  '..%2f..%2f',
  '%00',
  '%',
  '%zz',
  '%ff%fe',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e\u2066',
  '{{7*7}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: sent as it stands
  '${jndi:ldap://localhost/a}',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '[object Object]',
  'NaN',
  '-0',
  '1e400',
  '9007199254740993',
  'a'.repeat(5_000),
];

/** Any text: mostly an attack. */
export const hostileText = fc.oneof(
  fc.constantFrom(...NAUGHTY),
  fc.constantFrom(...ATTACKS),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
);

/**
 * Any text that a header may hold. test/http/hostile-http.node.test.ts sends bytes beyond ASCII.
 */
export const hostileHeader = fc.oneof(
  hostileText.map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
  fc.string({ unit: 'grapheme-ascii', maxLength: 300 }),
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

/** Runs `check` for each case, several at a time. Fails with all failed cases. */
export async function forEach<T>(cases: readonly T[], check: (each: T) => Promise<void>) {
  const failures: string[] = [];
  const waiting = cases[Symbol.iterator]();
  const work = Array.from({ length: 8 }, async () => {
    for (const each of waiting) {
      try {
        await check(each);
      } catch (error) {
        failures.push(`${JSON.stringify(each).slice(0, 200)}: ${String(error)}`);
      }
    }
  });
  await Promise.all(work);
  expect(failures).toEqual([]);
}

/** Expects the service to respond as before. */
export async function expectWell(): Promise<void> {
  await expectStatus(await get('/api/v1/web/properties?limit=1'), 200);
  await expectStatus(await get('/api/health'), 200);
}
