/** Formats values and strings for a terminal. */

const MAX_QUOTED_CHARACTERS = 60;

/**
 * Formats a value as JSON, with nested objects and arrays shortened to `…`. Long JSON is cut off,
 * between words if possible.
 */
export function quote(value: unknown): string {
  const text =
    JSON.stringify(value, (key, inner: unknown) =>
      key !== '' && typeof inner === 'object' && inner !== null ? '…' : inner,
    ) ?? '';
  if (text.length <= MAX_QUOTED_CHARACTERS) return text;
  const prefix = text.slice(0, MAX_QUOTED_CHARACTERS);
  const completeWords = /^(.{30,}\S) /s.exec(prefix)?.[1] ?? prefix;
  return `${completeWords}…${text.startsWith('"') ? '"' : ''}`;
}

/**
 * Escapes characters that are invisible or easily confused. They are control characters (which
 * could manipulate the terminal), invisible characters, unusual spaces, and combining accents
 * (`e\u0301`). Emoji are not changed.
 */
export function printable(text: string): string {
  return text.replaceAll(/\p{RGI_Emoji}|\p{L}\p{M}+|[[\p{C}\p{Z}]--[ ]]/gv, (match) => {
    const isComposed = /^\p{L}/u.test(match) && match.normalize('NFC') === match;
    if (isComposed || /^\p{RGI_Emoji}$/v.test(match)) return match;
    return match.replaceAll(/[\p{C}\p{Z}\p{M}]/gu, escapeCharacter);
  });
}

/** Returns the escape sequence of a character, e.g. `\u00a0` or `\u{e0001}`. */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)?.toString(16).padStart(4, '0') ?? '';
  return code.length === 4 ? `\\u${code}` : `\\u{${code}}`;
}
