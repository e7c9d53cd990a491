/** Parameter types that CONTRIBUTING.md describes but that no parameter uses yet. */

import { expect, it } from 'vitest';
import { parseWith } from '../../src/http/validation-problems.ts';
import { decimal } from '../../src/schema/numbers.ts';

it.each([
  ['2.5', 2.5],
  ['2.50', 2.5],
  ['0', 0],
  ['50', 50],
  ['', 'must be a number such as 2.5'],
  ['.5', 'must be a number such as 2.5'],
  ['1e1', 'must be a number such as 2.5'],
  ['50.5', 'must be at most 50'],
  ['-1', 'must be at least 0'],
])('parses the decimal %j as %j', (sent, expected) => {
  const parsed = parseWith(decimal(0, 50), sent);
  expect(parsed.ok ? parsed.value : parsed.problems[0]?.message).toBe(expected);
});
