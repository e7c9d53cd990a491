/** Implements the interface of the Worker's D1 binding for any function that runs SQL. */

/** A query for D1's REST API, which accepts only strings as parameters. */
type Query = { sql: string; params: string[] };
type Row = Record<string, unknown>;
/** Runs queries in one transaction, and returns the rows of each. */
type RunQueries = (queries: readonly Query[]) => Promise<readonly Row[][]>;
type Statement = D1PreparedStatement & { toQuery: () => Query };

/**
 * Creates a database that executes its statements with `run`. Methods that no command calls throw
 * an error.
 */
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

/** Wraps rows as a D1 result. The caller chooses their type, as with the binding. */
function createResult<T>(rows: readonly unknown[]): D1Result<T> {
  return { success: true, results: rows as T[], meta: {} as D1Meta } as D1Result<T>;
}

/**
 * Matches parameters such as `?` and `?1`. Also matches strings, quoted names and comments, in
 * which a `?` is not a parameter.
 */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?(\d*)/g;

/**
 * Replaces parameters whose values are not strings with literals, e.g. `a = ?, b = ?` becomes `a =
 * ?1, b = (5)`.
 */
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
  // The parentheses are necessary because two minus signs would begin a comment.
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  throw new Error(`D1 cannot bind a ${typeof value}`);
}
