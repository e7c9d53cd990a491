/**
 * Writes a pattern of the code as every reader of the OpenAPI document reads it: ECMAScript with its
 * `u` flag, RE2, Java and Python. Pure.
 *
 * Python's `\d` and `\w` know every script, Java has no `\0`, and an escape that a dialect does not need
 * is an error in another. What has no portable form is left as it is, and a test finds it.
 */

const DIGITS = '0-9';
const WORD_CHARACTERS = '0-9A-Za-z_';

/** An escape, or any other character. */
const TOKENS = /\\.|./gs;

/** Returns the same pattern in the forms that all dialects share. */
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
