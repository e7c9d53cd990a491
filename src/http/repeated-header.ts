/** A header that was sent twice: the Fetch API joins its values to one, with `, ` between them. */

/**
 * Returns the value of a header that was sent once, or several times with one value. Any other
 * value is returned as it is.
 *
 * @example sentOnce('a, a') // 'a'
 * @example sentOnce('a, b') // 'a, b'
 */
export function sentOnce(value: string): string {
  if (!value.includes(', ')) return value;
  const list = `${value}, `;
  // The length of a part divides the length of the list, so few parts are compared.
  for (let count = Math.floor(list.length / 2); count > 1; count -= 1) {
    if (list.length % count > 0) continue;
    const part = list.slice(0, list.length / count);
    if (part.repeat(count) === list) return part.slice(0, -2);
  }
  return value;
}
