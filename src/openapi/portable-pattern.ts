/**
 * Rewrites a regular expression of the code for the OpenAPI document, whose readers have other dialects: ECMAScript
 * with the `u` flag, RE2, Java and Python. Pure.
 *
 * Python's `\d` and `\w` match characters of every script, Java has no `\0`, and an escape that one dialect allows is
 * an error in another. A pattern without a portable form is not changed, and a test finds it.
 */

const DIGITS = '0-9';
const WORD_CHARACTERS = '0-9A-Za-z_';

/** An escape, or any other character. */
const TOKENS = /\\.|./gs;

/** Returns the same pattern in the syntax that all dialects share. */
export function portablePattern(pattern: string): string {
  let isInClass = false;
  const written = pattern.match(TOKENS)?.map((token) => {
    if (token === '[') isInClass = true;
    if (token === ']') isInClass = false;
    return portableToken(token, isInClass);
  });
  return written?.join('') ?? '';
}

function portableToken(token: string, isInClass: boolean): string {
  switch (token) {
    case '\\d':
      return isInClass ? DIGITS : `[${DIGITS}]`;
    case '\\w':
      return isInClass ? WORD_CHARACTERS : `[${WORD_CHARACTERS}]`;
    case '\\0':
      return '\\x00';
    case '\\/':
      return '/';
    default:
      return token;
  }
}
