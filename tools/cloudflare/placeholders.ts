/**
 * Rewrites a statement so that all its parameters are texts, as the schema of D1's REST interface requires: a number is
 * cast in the statement, and null is written as `NULL`. Pure.
 */

/** Skips texts, quoted names and comments; finds `?` and `?1`. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g;

/** Throws for a value that D1 cannot bind. */
export function withTextParameters(
  sql: string,
  values: readonly unknown[],
): { sql: string; params: string[] } {
  const params: string[] = [];
  const places = new Map<number, string>();
  let last = 0;
  const place = (number: number): string => {
    const known = places.get(number);
    if (known !== undefined) return known;
    if (number < 1 || number > values.length) {
      throw new Error(`the statement has a parameter ${number}, and ${values.length} values`);
    }
    const written = write(values[number - 1], params);
    places.set(number, written);
    return written;
  };
  const written = sql.replace(TOKEN, (token, digits: string | undefined) => {
    if (digits === undefined) return token;
    last = digits === '' ? last + 1 : Math.max(last, Number(digits));
    return place(digits === '' ? last : Number(digits));
  });
  return { sql: written, params };
}

function write(value: unknown, params: string[]): string {
  if (value === null) return 'NULL';
  const bind = (text: string) => `?${params.push(text)}`;
  switch (typeof value) {
    case 'string':
      return bind(value);
    case 'boolean':
      return `CAST(${bind(value ? '1' : '0')} AS INTEGER)`;
    case 'number':
      if (!Number.isFinite(value)) break;
      return `CAST(${bind(String(value))} AS ${Number.isInteger(value) ? 'INTEGER' : 'REAL'})`;
  }
  throw new Error(`D1 cannot bind a ${typeof value}`);
}
