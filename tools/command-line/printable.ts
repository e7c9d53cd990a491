/** Values and texts as a terminal shows them. Pure. */

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
 * Escapes what a reader cannot see, or would take for something else: control characters, which
 * could steer the terminal, invisible ones, spaces of other widths, and an accent beside its letter
 * (`e\u0301`). An emoji may have these.
 */
export function printable(text: string): string {
  return text.replaceAll(/\p{RGI_Emoji}|\p{L}\p{M}+|[[\p{C}\p{Z}]--[ ]]/gv, (found) => {
    const isWhole = /^\p{L}/u.test(found) && found.normalize('NFC') === found;
    if (isWhole || /^\p{RGI_Emoji}$/v.test(found)) return found;
    return found.replaceAll(/[\p{C}\p{Z}\p{M}]/gu, escapeCharacter);
  });
}

/** e.g. `\u00a0`, `\u{e0001}` */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)?.toString(16).padStart(4, '0') ?? '';
  return code.length === 4 ? `\\u${code}` : `\\u{${code}}`;
}
