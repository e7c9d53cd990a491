/**
 * Waits while another program locks the local database, such as an import that writes listings.
 * Deployed databases are never locked in this way.
 */

const LOCKED = /SQLITE_BUSY|Failed to get session commit token/i;
const PAUSE_MS = 200;
/** The longest time that the service itself waits for a write to D1, as in src/storage/d1.ts. */
const MAX_WAIT_MS = 10_000;

/** Methods that return a session or a statement without calling the database. */
const BUILDERS: ReadonlySet<unknown> = new Set(['withSession', 'prepare', 'bind']);

/** Wraps a database. While the database is locked, its calls are retried for at most 10 s. */
export function waitForLocks<T extends object>(database: T): T {
  return new Proxy(database, {
    get: (_, name) => {
      const method: unknown = Reflect.get(database, name);
      if (typeof method !== 'function') return method;
      return (...values: unknown[]) => {
        const call = () => Reflect.apply(method, database, values);
        return BUILDERS.has(name) ? waitForLocks(call()) : retryWhileLocked(call);
      };
    },
  });
}

async function retryWhileLocked<T>(call: () => Promise<T>): Promise<T> {
  const endsAt = Date.now() + MAX_WAIT_MS;
  while (true) {
    try {
      return await call();
    } catch (error) {
      if (!LOCKED.test(String(error)) || Date.now() >= endsAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
