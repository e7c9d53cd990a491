/**
 * Finds statements that no migration may hold. A migration only adds to the schema, so that the version before it works
 * with the new schema: that version serves while the migration is applied, and after a rollback.
 */

/**
 * D1 ignores `foreign_keys=OFF`: rebuilding a table deletes child rows under ON DELETE CASCADE and is reported as a
 * success. Remote migrations have split triggers in their middle.
 */
const REFUSED: readonly { pattern: RegExp; fault: string }[] = [
  { pattern: /\bdrop\s+table\b/i, fault: 'drops a table' },
  { pattern: /\bdrop\s+index\b/i, fault: 'drops an index' },
  { pattern: /\bdrop\s+view\b/i, fault: 'drops a view' },
  { pattern: /\bdrop\s+(?!\s|(?:table|index|view)\b)/i, fault: 'drops a column' },
  { pattern: /\brename\b/i, fault: 'renames a table or a column' },
  { pattern: /__new_/i, fault: 'rebuilds a table' },
  { pattern: /\bupdate\b/i, fault: 'overwrites values' },
  { pattern: /\b(delete|replace\s+into|insert\s+or\s+replace)\b/i, fault: 'deletes rows' },
  { pattern: /\bcreate\s+(temp\s+|temporary\s+)?trigger\b/i, fault: 'makes a trigger' },
  { pattern: /\bpragma\b/i, fault: 'sets a pragma, which D1 ignores or refuses' },
  { pattern: /\r/, fault: 'has line ends other than LF' },
];

const NAME = /(?:`([^`]+)`|"([^"]+)"|\[([^\]]+)\]|(\w+))/.source;
const CREATED_TABLE = new RegExp(`\\bcreate\\s+table\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}`, 'gi');
const UNIQUE_INDEX = new RegExp(
  `\\bcreate\\s+unique\\s+index\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}\\s+on\\s+${NAME}`,
  'gi',
);

/** Texts and comments, which hold no statement. Quoted names are kept: a rebuilt table is recognized by its name. */
const NOT_STATEMENTS = /'(?:[^']|'')*'|--(?!> statement-breakpoint)[^\n]*|\/\*[\s\S]*?\*\//g;
/** Actions of a foreign key delete nothing by themselves. */
const KEY_ACTIONS =
  /\bon\s+(update|delete)\s+(no\s+action|restrict|cascade|set\s+null|set\s+default)/gi;

/** Returns the faults of a migration's SQL text; empty when it may be applied. */
export function faultsOfMigration(sql: string): string[] {
  const statements = sql.replaceAll(NOT_STATEMENTS, "''").replaceAll(KEY_ACTIONS, '');
  const faults = REFUSED.filter(({ pattern }) =>
    pattern.test(withoutNames(statements, pattern)),
  ).map(({ fault }) => fault);
  const created = new Set([...statements.matchAll(CREATED_TABLE)].map((match) => nameIn(match, 1)));
  const isOnExisting = [...statements.matchAll(UNIQUE_INDEX)].some(
    (match) => !created.has(nameIn(match, 5)),
  );
  return isOnExisting
    ? [...faults, 'makes an existing table refuse rows that it accepted before']
    : faults;
}

/** Removes quoted names, because a column may be called `update`. */
function withoutNames(statements: string, pattern: RegExp): string {
  if (pattern.source.includes('__new_')) return statements;
  return statements.replaceAll(/`[^`]*`|"[^"]*"|\[[^\]]*\]/g, 'x');
}

/** Returns the name in a match: a name is written in one of four ways, each with its own group. */
function nameIn(match: RegExpMatchArray, firstGroup: number): string | undefined {
  return match
    .slice(firstGroup, firstGroup + 4)
    .find((name) => name !== undefined)
    ?.toLowerCase();
}
