/** Formats values and strings for a terminal. */

const SHOWN_CHARACTERS = 60;

/** Formats a value as JSON of one level. A long text is cut between words. */
export function quote(value: unknown): string {
  const text =
    JSON.stringify(value, (key, inner: unknown) =>
      key !== '' && typeof inner === 'object' && inner !== null ? '…' : inner,
    ) ?? '';
  if (text.length <= SHOWN_CHARACTERS) return text;
  const cut = text.slice(0, SHOWN_CHARACTERS);
  const words = /^(.{30,}\S) /s.exec(cut)?.[1] ?? cut;
  return `${words}…${text.startsWith('"') ? '"' : ''}`;
}

/**
 * Escapes characters that a reader cannot see or would mistake for others: control characters, which
 * could steer the terminal, invisible ones, spaces of other widths, and an accent that follows its letter
 * (`e\u0301`). An emoji may have these.
 */
export function printable(text: string): string {
  return text.replaceAll(/\p{RGI_Emoji}|\p{L}\p{M}+|[[\p{C}\p{Z}]--[ ]]/gv, (match) => {
    const isWhole = /^\p{L}/u.test(match) && match.normalize('NFC') === match;
    if (isWhole || /^\p{RGI_Emoji}$/v.test(match)) return match;
    return match.replaceAll(/[\p{C}\p{Z}\p{M}]/gu, escapeCharacter);
  });
}

/** e.g. `\u00a0`, `\u{e0001}` */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)?.toString(16).padStart(4, '0') ?? '';
  return code.length === 4 ? `\\u${code}` : `\\u{${code}}`;
}
