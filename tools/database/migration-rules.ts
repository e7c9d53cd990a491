/** What no migration may do: the service goes on serving, and losing nothing, while one is applied. */

/**
 * On D1 a rebuild deletes child rows under ON DELETE CASCADE and is reported as a success, since
 * `foreign_keys=OFF` is ignored there; the old code still runs while the new schema is already in
 * place; remote migrations have split triggers in their middle.
 */
const REFUSED: readonly { pattern: RegExp; what: string }[] = [
  { pattern: /\bdrop\s+table\b/i, what: 'drops a table' },
  { pattern: /\bdrop\s+column\b/i, what: 'drops a column' },
  { pattern: /\brename\s+(to|column)\b/i, what: 'renames a table or a column' },
  { pattern: /__new_/i, what: 'rebuilds a table' },
  { pattern: /\b(delete\s+from|replace\s+into)\b/i, what: 'deletes rows' },
  { pattern: /\bcreate\s+(temp\s+|temporary\s+)?trigger\b/i, what: 'makes a trigger' },
  { pattern: /\bpragma\b/i, what: 'sets a pragma, which D1 ignores or refuses' },
  { pattern: /\r/, what: 'has line ends other than LF' },
];

/** What is wrong with a migration's SQL text; empty when it may be applied. */
export function faultsOfMigration(sql: string): string[] {
  const statements = sql.replaceAll(/--(?!> statement-breakpoint).*$/gm, '');
  return REFUSED.filter(({ pattern }) => pattern.test(statements)).map(({ what }) => what);
}
