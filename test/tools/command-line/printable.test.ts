import { expect, it } from 'vitest';
import { printable } from '../../../tools/command-line/printable.ts';

it.each([
  [
    'control characters, which could manipulate a terminal',
    '\u001b[31m\u2028',
    '\\u001b[31m\\u2028',
  ],
  ['invisible characters', 'A\u200bB\u202e\u{e0001}', 'A\\u200bB\\u202e\\u{e0001}'],
  ['an unusual space', 'Deià\u00a0: 3', 'Deià\\u00a0: 3'],
  ['a combining accent', 'Deia\u0300', 'Deia\\u0300'],
])('escapes %s', (_, text, escapedText) => expect(printable(text)).toBe(escapedText));

it('preserves letters, emoji and accents that have no composed form', () => {
  const text = 'Sóller 👨‍👩‍👧 🏳️‍🌈 x\u0302';
  expect(printable(text)).toBe(text);
});
