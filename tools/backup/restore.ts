/**
 * Restores a backup into a database without rows. While a restore runs, its tables have names that no
 * Worker uses. Otherwise the Worker would accept events that the restore would then lose.
 *
 *     restoring_5f0c31d2a4b97e60_events    prefix, id of the run and name of the table
 *
 *     requireRestorable   checks that the database has no rows, or only those of an unfinished restore
 *     restore             applies the ledger to the scratch copy, so that no erased payload is sent
 *       createTables      replaces all tables with empty ones in one transaction, which fails if a row
 *                         or a table is new
 *       copyRows          sends the rows of a table that an earlier run has not sent
 *       publishTables     renames the tables and writes the identity in one transaction, which fails if
 *                         the numbers of rows differ
 *
 * The id of a run is a hash of the backup and the ledger. A run with the same two files therefore
 * continues the earlier one, and any other run starts over. `publishTables` copies no rows and
 * builds no indexes, because D1 ends a request after 30 s.
 */

import { hash, randomBytes } from 'node:crypto';
import { describeError, UserError } from '../command-line/user-error.ts';
import {
  beginGeneration,
  IDENTITY,
  RESTORING,
  readLineage,
  readState,
} from '../database/identity.ts';
import { recordOperation } from '../database/operations.ts';
import {
  countRows,
  hasRows,
  readColumns,
  readPages,
  readSchema,
  readTables,
  SERVICE_SCHEMA,
  splitIntoBatches,
} from '../database/tables.ts';
import { applyLedger, type Erasure } from '../erasure/ledger.ts';

const FILLED_AT_CREATION = ['d1_migrations', IDENTITY];
/** Maximum size of a bound value in D1. Larger rows are sent one column at a time. */
const MAX_VALUE_BYTES = 2_000_000;
/** Matches the errors of `failUnless`, and of statements that use a dropped table. */
const CONFLICT = /malformed JSON|no such table/;

/** The names that tables have until the restore is finished, by their final names. */
type TemporaryNames = ReadonlyMap<string, string>;
/** Number of rows that an earlier run has sent, and the `rowid` of the last one. */
type ResumePoint = { count: number; lastRowId: number | null };
/** Resume points by table. Empty at the start of a new run. */
type ResumePoints = ReadonlyMap<string, ResumePoint>;

/** Throws a `UserError` if the database has rows that do not come from an interrupted restore. */
export async function requireRestorable(target: D1Database): Promise<void> {
  await readState(target);
  for (const table of (await readTables(target)).filter(mustBeEmpty)) {
    if (!(await hasRows(target, table))) continue;
    throw new UserError(
      `the database already has rows (in ${table}). Restore into an empty database, unless an earlier restore was completed`,
    );
  }
}

function mustBeEmpty(table: string): boolean {
  return !FILLED_AT_CREATION.includes(table) && !table.startsWith(RESTORING);
}

export type RestoreOptions = {
  /** Path of the backup file. */
  file?: string | undefined;
  sum?: string;
  /** Maximum number of bytes that one call sends, unless a single row is larger. */
  bytesPerBatch?: number | undefined;
  /** Called with the number of rows sent so far and the total. */
  onProgress?: (done: number, total: number) => void;
};

/**
 * Restores a backup from its scratch copy, or continues an interrupted restore. Returns the number
 * of events whose payloads the ledger erased.
 */
export async function restore(
  target: D1Database,
  scratch: D1Database,
  ledger: readonly Erasure[],
  { file, sum = '', bytesPerBatch, onProgress = () => {} }: RestoreOptions = {},
): Promise<number> {
  const lineage = await readLineage(scratch);
  const erased = await applyLedger(scratch, lineage, ledger);
  const erasures = ledger.filter((erasure) => erasure.lineage === lineage);
  const runId = hash('sha256', JSON.stringify([sum, erasures])).slice(0, 16);
  const tables = await readTables(scratch);
  const names = new Map(tables.map((table) => [table, `${RESTORING}${runId}_${table}`]));
  const copiedTables = tables.filter((table) => table !== IDENTITY);
  const counts = await countRows(scratch, copiedTables);
  const total = copiedTables.reduce((sum, table) => sum + (counts[table] ?? 0), 0);
  try {
    const resumePoints =
      (await findResumePoints(target, scratch, names)) ??
      (await createTables(target, scratch, names));
    let sentRows = 0;
    for (const { count } of resumePoints.values()) sentRows += count;
    onProgress(sentRows, total);
    for (const table of copiedTables) {
      const lastRowId = resumePoints.get(table)?.lastRowId ?? undefined;
      const temporaryName = names.get(table) ?? '';
      const options = { lastRowId, bytesPerBatch };
      for await (const count of copyRows(scratch, target, table, temporaryName, options)) {
        sentRows += count;
        onProgress(sentRows, total);
      }
    }
    const id = crypto.randomUUID();
    const operation = { id, command: 'restore', file, counts: { rows: total, erased } };
    await publishTables(target, lineage, names, counts, recordOperation(target, operation));
    return erased;
  } catch (error) {
    if (!CONFLICT.test(describeError(error))) throw error;
    throw new UserError('another command has changed the database in the meantime');
  }
}

/** Returns a statement that makes its transaction fail unless all conditions are true. */
function failUnless(conditions: readonly string[]): string {
  return `SELECT json(iif(${conditions.join(' AND ')}, 'true', 'changed'))`;
}

/**
 * Finds where an earlier run with the same id stopped. Returns undefined if there was no such run,
 * or if some of its rows are gone. Rows are sent in order, so no row before the last one can be
 * missing.
 */
async function findResumePoints(
  target: D1Database,
  scratch: D1Database,
  names: TemporaryNames,
): Promise<ResumePoints | undefined> {
  const existingTables = await readTables(target);
  if (![...names.values()].every((name) => existingTables.includes(name))) return undefined;
  const resumePoints = new Map<string, ResumePoint>();
  for (const [table, name] of names) {
    const statement = target.prepare(
      `SELECT count(*) AS count, max(rowid) AS lastRowId FROM "${name}"`,
    );
    const resumePoint = await statement.first<ResumePoint>();
    if (resumePoint === null) return undefined;
    const countUpTo = scratch.prepare(`SELECT count(*) AS n FROM "${table}" WHERE rowid <= ?`);
    const expectedCount = await countUpTo.bind(resumePoint.lastRowId).first('n');
    if (expectedCount !== resumePoint.count) return undefined;
    resumePoints.set(table, resumePoint);
  }
  return resumePoints;
}

/**
 * Creates empty tables under their temporary names. They are renamed after their indexes are
 * created, because an index's condition names its table, and SQLite then updates both.
 */
async function createTables(
  target: D1Database,
  scratch: D1Database,
  names: TemporaryNames,
): Promise<ResumePoints> {
  const schema = await readSchema(target);
  const oldTables = schema.filter(({ type }) => type === 'table').map(({ name }) => name);
  const statements = [
    failUnless([
      `(SELECT count(*) ${SERVICE_SCHEMA}) = ${schema.length}`,
      ...oldTables.filter(mustBeEmpty).map((table) => `NOT EXISTS (SELECT 1 FROM "${table}")`),
    ]),
    ...oldTables.map((table) => `DROP TABLE "${table}"`),
    ...(await readSchema(scratch)).map(({ sql }) => sql),
    ...Array.from(names, ([table, name]) => `ALTER TABLE "${table}" RENAME TO "${name}"`),
  ];
  try {
    await target.batch(statements.map((sql) => target.prepare(sql)));
    return new Map();
  } catch (error) {
    // The response to a successful attempt may have been lost, or another run with this id has begun.
    const resumePoints = await findResumePoints(target, scratch, names);
    if (resumePoints === undefined) throw error;
    return resumePoints;
  }
}

/**
 * Copies the rows of a table, and yields the number of rows that each call sent. Calls can be
 * repeated, because rows keep their `rowid`.
 */
async function* copyRows(
  scratch: D1Database,
  target: D1Database,
  table: string,
  temporaryName: string,
  {
    lastRowId,
    bytesPerBatch,
  }: { lastRowId: number | undefined; bytesPerBatch: number | undefined },
): AsyncGenerator<number> {
  const columns = await readColumns(scratch, table);
  const insert = `INSERT OR REPLACE INTO "${temporaryName}" (${columns.map((column) => `"${column}"`)})`;
  const insertBatch = target.prepare(
    `${insert} SELECT ${columns.map((_, index) => `value->>${index}`)} FROM json_each(?1)`,
  );
  const insertRow = target.prepare(`${insert} VALUES (${columns.map(() => '?')})`);
  for await (const { json, count } of splitIntoBatches(readRows(), bytesPerBatch)) {
    const isLargeRow = Buffer.byteLength(json) > MAX_VALUE_BYTES;
    const values = isLargeRow ? JSON.parse(json)[0] : [json];
    await (isLargeRow ? insertRow : insertBatch).bind(...values).run();
    yield count;
  }
  async function* readRows() {
    for await (const page of readPages(scratch, table, columns, lastRowId)) {
      for (const row of page) yield JSON.stringify(columns.map((column) => row[column]));
    }
  }
}

/**
 * Gives the restored tables their final names. Throws if rows are missing. The next run then starts
 * over.
 */
async function publishTables(
  target: D1Database,
  lineage: string,
  names: TemporaryNames,
  counts: Readonly<Record<string, number>>,
  record: D1PreparedStatement,
): Promise<void> {
  const generation = randomBytes(16).toString('hex');
  const statements = [
    failUnless(
      Object.entries(counts).map(
        ([table, count]) => `(SELECT count(*) FROM "${names.get(table)}") = ${count}`,
      ),
    ),
    ...Array.from(names, ([table, name]) => `ALTER TABLE "${name}" RENAME TO "${table}"`),
  ];
  try {
    await target.batch([
      ...statements.map((sql) => target.prepare(sql)),
      beginGeneration(target, lineage, generation),
      record,
    ]);
  } catch (error) {
    // The response to a successful attempt may have been lost. Only this run uses this generation.
    const stored = target.prepare(`SELECT generation FROM ${IDENTITY}`).first('generation');
    if ((await stored.catch(() => undefined)) !== generation) throw error;
  }
}
