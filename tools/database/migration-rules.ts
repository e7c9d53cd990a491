/**
 * Finds statements that no migration may have. A migration only adds to the schema, so that the version before it works
 * with the new schema while the migration is applied, and after a rollback.
 */

/**
 * D1 ignores `foreign_keys=OFF`, so rebuilding a table deletes child rows under ON DELETE CASCADE and succeeds.
 */
const REJECTED: readonly { pattern: RegExp; fault: string }[] = [
  { pattern: /\bdrop\s+table\b/i, fault: 'drops a table' },
  { pattern: /\bdrop\s+index\b/i, fault: 'drops an index' },
  { pattern: /\bdrop\s+view\b/i, fault: 'drops a view' },
  { pattern: /\bdrop\s+(?!\s|(?:table|index|view)\b)/i, fault: 'drops a column' },
  { pattern: /\brename\b/i, fault: 'renames a table or a column' },
  { pattern: /\bupdate\b/i, fault: 'overwrites values' },
  { pattern: /\b(delete|replace\s+into|insert\s+or\s+replace)\b/i, fault: 'deletes rows' },
  { pattern: /\bcreate\s+(temp\s+|temporary\s+)?trigger\b/i, fault: 'makes a trigger' },
  { pattern: /\bpragma\b/i, fault: 'sets a pragma, which D1 ignores or refuses' },
  { pattern: /\r/, fault: 'has line ends other than LF' },
];

/** A name, which may be quoted. */
const NAME = /[`"[]?(\w+)[`"\]]?/.source;
const CREATED_TABLE = new RegExp(`\\bcreate\\s+table\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}`, 'gi');
const UNIQUE_INDEX = new RegExp(
  `\\bcreate\\s+unique\\s+index\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}\\s+on\\s+${NAME}`,
  'gi',
);

const NOT_STATEMENTS = /'(?:[^']|'')*'|--(?!> statement-breakpoint)[^\n]*|\/\*[\s\S]*?\*\//g;
/** e.g. `ON DELETE CASCADE`, which deletes nothing by itself. */
const KEY_ACTIONS =
  /\bon\s+(update|delete)\s+(no\s+action|restrict|cascade|set\s+null|set\s+default)/gi;
/** A column may be called `update`. */
const QUOTED_NAMES = /`[^`]*`|"[^"]*"|\[[^\]]*\]/g;

export function faultsOfMigration(sql: string): string[] {
  const statements = sql.replaceAll(NOT_STATEMENTS, "''").replaceAll(KEY_ACTIONS, '');
  const words = statements.replaceAll(QUOTED_NAMES, 'x');
  const faults = REJECTED.filter(({ pattern }) => pattern.test(words)).map(({ fault }) => fault);
  const created = [...statements.matchAll(CREATED_TABLE)].map(([, table]) => table?.toLowerCase());
  const isOnExisting = [...statements.matchAll(UNIQUE_INDEX)].some(
    ([, , table]) => !created.includes(table?.toLowerCase()),
  );
  if (isOnExisting) faults.push('makes an existing table refuse rows that it accepted before');
  return faults;
}
