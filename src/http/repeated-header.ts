/** Reads repeated headers, whose values the Fetch API joins with `, `. */

/**
 * Returns the value of a header that was sent more than once with the same value. Returns any other
 * value unchanged.
 *
 * @example mergeRepeated('a, a') // 'a'
 * @example mergeRepeated('a, b') // 'a, b'
 */
export function mergeRepeated(value: string): string {
  if (!value.includes(', ')) return value;
  const list = `${value}, `;
  // The length of a part must divide the length of the list, so few parts are compared.
  for (let count = Math.floor(list.length / 2); count > 1; count -= 1) {
    if (list.length % count > 0) continue;
    const part = list.slice(0, list.length / count);
    if (part.repeat(count) === list) return part.slice(0, -2);
  }
  return value;
}
