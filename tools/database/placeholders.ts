/** D1's REST takes texts alone: `a = ?, b = ?` becomes `a = ?1, b = (5)`. */

/** Skips texts, quoted names and comments; finds `?` and `?1`. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g;

export function withTextParameters(
  sql: string,
  values: readonly unknown[],
): { sql: string; params: string[] } {
  const params: string[] = [];
  const literals = values.map((value) =>
    typeof value === 'string' ? `?${params.push(value)}` : formatLiteral(value),
  );
  let last = 0;
  const written = sql.replace(TOKEN, (token, digits: string | undefined) => {
    if (digits === undefined) return token;
    last = digits === '' ? last + 1 : Number(digits);
    const literal = literals[last - 1];
    if (literal !== undefined) return literal;
    throw new Error(`the statement has a parameter ${last}, and ${values.length} values`);
  });
  return { sql: written, params };
}

function formatLiteral(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return value ? '1' : '0';
  // In parentheses: a minus sign after another one would begin a comment.
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  throw new Error(`D1 cannot bind a ${typeof value}`);
}
