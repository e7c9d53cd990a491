/**
 * Searches stored JSON for a term, such as a guest's name, as a person would. The spelling and the
 * encoding may differ.
 *
 *     term                  stored                                outcome
 *     Anna Ruiz             "Anna  Ruiz"                          exact: case, accents and white space are ignored
 *     Søren                 "Soeren"                              similar: different spelling
 *     Anna Ruiz             "Anna\tRuiz"                          similar: encoded
 *     Ángel Muñoz           "{\"name\":\"\\u00c1ngel Mu\\u00f1oz\"}"   similar: JSON inside a string
 *     anna@example.com      "https://…?mail=anna%40example.com"   similar: encoded
 */

/**
 * `exact` if the stored characters match; `similar` if they match only after decoding or in a
 * different spelling.
 */
export type TextMatch = 'exact' | 'similar';

/** Maximum number of nested encodings, e.g. a URL in JSON in a string. */
const MAX_DECODINGS = 3;

/**
 * Upper-case letters that Unicode does not decompose, with their forms in the transliteration
 * Latin-ASCII.
 */
const LETTERS: Readonly<Record<string, string>> = {
  Æ: 'AE',
  Œ: 'OE',
  Þ: 'TH',
  Ø: 'O',
  Ł: 'L',
  Đ: 'D',
  Ð: 'D',
  Ħ: 'H',
  Ŋ: 'N',
  Ŧ: 'T',
  Ə: 'E',
};

/** Returns a function that searches stored JSON for the term. */
export function createMatcher(term: string): (storedJson: string) => TextMatch | undefined {
  const exactTerm = fold(JSON.stringify(term).slice(1, -1));
  const similarTerm = shorten(fold(decodeAll(term)));
  return (storedJson) => {
    const text = fold(storedJson);
    if (text.includes(exactTerm)) return 'exact';
    const decoded = decodeAll(storedJson);
    const decodedText = decoded === storedJson ? text : fold(decoded);
    return shorten(decodedText).includes(similarTerm) ? 'similar' : undefined;
  };
}

/** Decodes repeatedly until nothing changes, at most three times. */
function decodeAll(text: string): string {
  let decoded = text;
  for (let decodings = 0; decodings < MAX_DECODINGS; decodings += 1) {
    const before = decoded;
    decoded = decode(before);
    if (decoded === before) break;
  }
  return decoded;
}

/**
 * Matches JSON escapes. Each level of nested JSON doubles the backslashes, so one pass decodes all
 * levels.
 */
const JSON_ESCAPE = /\\+(?:u([\dA-Fa-f]{4})|(["/bfnrt]))|\\{2,}/g;
const CONTROL_CHARACTERS: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
/** Matches one percent-encoded character in UTF-8, e.g. `%C3%81`. */
const PERCENT_ENCODED =
  /%[0-7][\dA-F]|%[CD][\dA-F]%[89AB][\dA-F]|%E[\dA-F](?:%[89AB][\dA-F]){2}|%F[0-7](?:%[89AB][\dA-F]){3}/gi;

/** Decodes JSON escapes and percent-encoding. Malformed sequences stay unchanged. */
function decode(text: string): string {
  const decoded = text.includes('\\') ? text.replaceAll(JSON_ESCAPE, decodeEscape) : text;
  return decoded.includes('%') ? decoded.replaceAll(PERCENT_ENCODED, decodePercent) : decoded;
}

function decodeEscape(_: string, hexadecimal?: string, character = '\\'): string {
  if (hexadecimal !== undefined) return String.fromCharCode(Number.parseInt(hexadecimal, 16));
  return CONTROL_CHARACTERS[character] ?? character;
}

function decodePercent(sequence: string): string {
  try {
    return decodeURIComponent(sequence);
  } catch {
    // The sequence does not encode a character, e.g. `%C0%80`.
    return sequence;
  }
}

/** Normalises case, accents, punctuation and white space, e.g. `O’Groß-Łoś` → `O'GROSS LOS`. */
function fold(text: string): string {
  return text
    .replaceAll(/\P{ASCII}/gu, foldCharacter)
    .replaceAll('`', "'")
    .replaceAll(/[\s-]{2,}|[\t\n\v\f\r-]/g, ' ')
    .toUpperCase();
}

/** Cached results of `foldCharacter`, which is slow. */
const foldedCharacters = new Map<string, string>();

function foldCharacter(character: string): string {
  const memoised = foldedCharacters.get(character);
  if (memoised !== undefined) return memoised;
  const foldedCharacter = character
    .replace(/[‘’‛ʻʼ´]/, "'")
    .replace(/\p{Pd}/u, ' ')
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .toUpperCase()
    .replaceAll(/\P{ASCII}/gu, (letter) => LETTERS[letter] ?? letter);
  foldedCharacters.set(character, foldedCharacter);
  return foldedCharacter;
}

/** Reduces alternative spellings to one form, e.g. `SOEREN` to `SOREN` and `HAAKON` to `HAKON`. */
function shorten(foldedText: string): string {
  return foldedText.replaceAll("'", '').replaceAll(/(?<=A)[AE]+|(?<=[OU])E+|(?<=D)J/g, '');
}
