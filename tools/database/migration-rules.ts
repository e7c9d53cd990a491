/**
 * Finds statements that no migration may have. A migration only adds to the schema, so that the version before it works
 * with the new schema while the migration is applied, and after a rollback.
 */

/** The separator that drizzle-kit writes between the statements of a migration. */
export const BREAKPOINT = '--> statement-breakpoint';

const ADDITION =
  /^(create\s+table|create\s+(unique\s+)?index|alter\s+table\s+\S+\s+add|insert\s+into)\b/i;
const TABLE = /^create\s+table\s+(?:if\s+not\s+exists\s+)?[`"[]?(\w+)/i;
/** It makes a table that exists reject rows that it accepted before. */
const UNIQUE_INDEX = /^create\s+unique\s.+?\son\s+[`"[]?(\w+)/is;
const TEXT_OR_COMMENT = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** Returns the statements that do more than add, e.g. `DROP TABLE events`. */
export function faultsOfMigration(sql: string): string[] {
  const statements = sql
    .replaceAll(BREAKPOINT, ';')
    .replaceAll(TEXT_OR_COMMENT, (match) => (match.startsWith("'") ? "''" : ' '))
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
  const created = statements.map((statement) => TABLE.exec(statement)?.[1]);
  return statements.filter((statement) => {
    const [, indexed] = UNIQUE_INDEX.exec(statement) ?? [];
    return !ADDITION.test(statement) || (indexed !== undefined && !created.includes(indexed));
  });
}
