/** Statements that no migration may hold: the service goes on, and loses nothing, while one is applied. */

/**
 * D1 ignores `foreign_keys=OFF`: rebuilding a table deletes child rows under ON DELETE CASCADE and is
 * reported as a success. The old code still runs when the new schema is already in place. Remote
 * migrations have split triggers in their middle.
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

/** Returns what is wrong with a migration's SQL text; empty when it may be applied. */
export function faultsOfMigration(sql: string): string[] {
  const statements = sql.replaceAll(/--(?!> statement-breakpoint).*$/gm, '');
  return REFUSED.filter(({ pattern }) => pattern.test(statements)).map(({ what }) => what);
}
