import { expect, it } from 'vitest';
import { printable } from '../../../tools/command-line/printable.ts';

it.each([
  ['control characters, which could steer a terminal', '\u001b[31m\u2028', '\\u001b[31m\\u2028'],
  ['invisible characters', 'A\u200bB\u202e\u{e0001}', 'A\\u200bB\\u202e\\u{e0001}'],
  ['a space that is none of the keyboard', 'Deià\u00a0: 3', 'Deià\\u00a0: 3'],
  ['an accent beside its letter', 'Deia\u0300', 'Deia\\u0300'],
])('shows %s', (_, text, shown) => expect(printable(text)).toBe(shown));

it('leaves letters, emoji and accents that have no letter of their own', () => {
  const text = 'Sóller 👨‍👩‍👧 🏳️‍🌈 x\u0302';
  expect(printable(text)).toBe(text);
});
