/** Values as SQL text, for a backup's file. Pure. */

export type SqlValue = string | number | null;

/**
 * Every text stays on one line, whatever a reader takes for the end of one, and ends where SQLite ends it:
 * control characters and Unicode's separators of lines are written in hexadecimal.
 */
export function sqlLiteral(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end a line or a text
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value)) {
    return `CAST(X'${Buffer.from(value).toString('hex')}' AS TEXT)`;
  }
  return `'${value.replaceAll("'", "''")}'`;
}

/** Returns about how many bytes a row takes. */
export function rowSize(values: readonly SqlValue[]): number {
  return values.reduce<number>((sum, value) => sum + String(value).length, 0);
}
