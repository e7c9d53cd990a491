/** The wrangler configuration that a command-line program opens a local database with. Pure. */

import { DATABASE_BINDING } from '../command-line/project.ts';

/**
 * Returns the configuration: a D1 binding without ids. Wrangler names its local state by the binding
 * then, as it does for `dev`, where wrangler.toml has the same name as `preview_database_id`.
 */
export function databaseConfig(worker: { name?: string; compatibility_date?: string }) {
  return {
    name: worker.name,
    compatibility_date: worker.compatibility_date,
    d1_databases: [{ binding: DATABASE_BINDING, database_name: DATABASE_BINDING }],
  };
}
