/**
 * Rewrites a regular expression for the OpenAPI document, so that it has the same meaning in ECMAScript
 * with the `u` flag, RE2, Java and Python. In Python, `\d` and `\w` match characters of every script.
 * Java does not have `\0`.
 *
 * A pattern without a portable form stays unchanged, so that a test finds it.
 *
 * @example portablePattern('^\\d+$') // '^[0-9]+$'
 */
export function portablePattern(pattern: string): string {
  let isInClass = false;
  return pattern.replaceAll(/\\.|[[\]]/gs, (token) => {
    switch (token) {
      case '[':
      case ']':
        isInClass = token === '[';
        return token;
      case '\\d':
        return isInClass ? '0-9' : '[0-9]';
      case '\\w':
        return isInClass ? '0-9A-Za-z_' : '[0-9A-Za-z_]';
      case '\\0':
        return '\\x00';
      case '\\/':
        return '/';
      default:
        return token;
    }
  });
}
