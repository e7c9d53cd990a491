/** The interface of the Worker's D1 binding, on top of any function that runs SQL. */

/** A query of D1's REST interface, whose parameters can only be strings. */
type Query = { sql: string; params: string[] };
type Row = Record<string, unknown>;
/** Runs queries as one transaction. */
type RunQueries = (queries: readonly Query[]) => Promise<readonly Row[][]>;
type Statement = D1PreparedStatement & { toQuery: () => Query };

/** Returns a database whose statements `run` executes. Methods that commands do not call throw. */
export function createD1Database(run: RunQueries): D1Database {
  return {
    prepare: (sql) => createStatement(run, sql, []),
    async batch<T>(statements: D1PreparedStatement[]) {
      const queries = statements.map((statement) => (statement as Statement).toQuery());
      return (await run(queries)).map((rows) => createResult<T>(rows));
    },
    exec: rejectCall,
    withSession: rejectCall,
    dump: rejectCall,
  };
}

function rejectCall(): never {
  throw new Error('commands do not call this method of D1');
}

function createStatement(run: RunQueries, sql: string, values: readonly unknown[]): Statement {
  const toQuery = () => withTextParameters(sql, values);
  const all = async <T = Row>() => {
    const [rows] = await run([toQuery()]);
    if (rows === undefined) throw new Error('D1 gave no result');
    return createResult<T>(rows);
  };
  return {
    toQuery,
    bind: (...bound: unknown[]) => createStatement(run, sql, bound),
    all,
    run: all,
    async first<T>(column?: string) {
      const [row] = (await all()).results;
      if (row === undefined) return null;
      return (column === undefined ? row : row[column]) as T;
    },
    raw: rejectCall,
  };
}

/** As with the binding, the caller states the type of the rows. */
function createResult<T>(rows: readonly unknown[]): D1Result<T> {
  return { success: true, results: rows as T[], meta: {} as D1Meta } as D1Result<T>;
}

/** Matches the parameters `?` and `?1`, and the strings, quoted names and comments to skip. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?(\d*)/g;

/** Turns values that are not strings into literals, e.g. `a = ?, b = ?` into `a = ?1, b = (5)`. */
export function withTextParameters(sql: string, values: readonly unknown[]): Query {
  const params: string[] = [];
  const literals = values.map((value) =>
    typeof value === 'string' ? `?${params.push(value)}` : formatLiteral(value),
  );
  let position = 0;
  const text = sql.replace(TOKEN, (token, digits: string | undefined) => {
    if (digits === undefined) return token;
    position = digits === '' ? position + 1 : Number(digits);
    const literal = literals[position - 1];
    if (literal !== undefined) return literal;
    throw new Error(`parameter ${position} has no value`);
  });
  return { sql: text, params };
}

function formatLiteral(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return value ? '1' : '0';
  // In parentheses, because a minus sign after another one would begin a comment.
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  throw new Error(`D1 cannot bind a ${typeof value}`);
}
