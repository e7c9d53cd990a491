/** Values as SQL text, for a backup's file. Pure. */

export type SqlValue = string | number | null;

/** Every text stays on one line, and ends where SQLite ends it: control characters are written in hexadecimal. */
export function sqlLiteral(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end a line or a text
  if (/[\u0000-\u001f]/.test(value)) {
    return `CAST(X'${Buffer.from(value).toString('hex')}' AS TEXT)`;
  }
  return `'${value.replaceAll("'", "''")}'`;
}

/** Returns about how many bytes a row takes. */
export function rowSize(values: readonly SqlValue[]): number {
  return values.reduce<number>((sum, value) => sum + String(value).length, 0);
}
