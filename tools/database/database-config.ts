/**
 * The wrangler configuration that a command-line program opens the database with: the database as
 * wrangler.toml describes it, and nothing else of the Worker. Pure.
 */

import { DATABASE_BINDING, UserError } from '../command-line/project.ts';

/** The fields of wrangler's configuration that are used here. */
export type WorkerConfig = {
  name?: string | undefined;
  account_id?: string | undefined;
  compatibility_date?: string | undefined;
  d1_databases: readonly DatabaseBinding[];
};

type DatabaseBinding = {
  binding: string;
  database_name?: string | undefined;
  database_id?: string | undefined;
  preview_database_id?: string | undefined;
};

/**
 * Returns the configuration. Wrangler finds the local state by the database's ids, which are kept
 * unchanged; `remote: true` on the binding makes it connect to the deployed database. Throws a
 * `UserError` when wrangler.toml does not say enough.
 */
export function databaseConfig(worker: WorkerConfig, options: { isRemote: boolean }) {
  const database = worker.d1_databases.find(({ binding }) => binding === DATABASE_BINDING);
  if (database === undefined) {
    throw new UserError(`wrangler.toml has no D1 database with the binding ${DATABASE_BINDING}`);
  }
  const { binding, database_name, database_id, preview_database_id } = database;
  const common = { name: worker.name, compatibility_date: worker.compatibility_date };
  if (!options.isRemote) {
    return {
      ...common,
      d1_databases: [{ binding, database_name, database_id, preview_database_id }],
    };
  }
  if (database_id === undefined) {
    throw new UserError(
      'wrangler.toml gives no database_id for the D1 database: see docs/operations.md',
    );
  }
  return {
    ...common,
    account_id: worker.account_id,
    d1_databases: [{ binding, database_name, database_id, remote: true }],
  };
}
