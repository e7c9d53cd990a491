/**
 * Waits while another program has locked the local database, as an import does while it applies
 * its listings. Deployed databases have no locks.
 */

const LOCKED = /SQLITE_BUSY|Failed to get session commit token/i;
const PAUSE_MS = 200;
/** The longest that the service waits for D1: see src/storage/d1.ts. */
const MAX_WAIT_MS = 10_000;

/** These return a session or a statement, and call nothing. */
const MAKERS: ReadonlySet<unknown> = new Set(['withSession', 'prepare', 'bind']);

/** Returns the database with every call repeated until it meets no lock, for 10 s at most. */
export function waitForLocks<T extends object>(database: T): T {
  return new Proxy(database, {
    get: (_, name) => {
      const method: unknown = Reflect.get(database, name);
      if (typeof method !== 'function') return method;
      return (...values: unknown[]) => {
        const call = () => Reflect.apply(method, database, values);
        return MAKERS.has(name) ? waitForLocks(call()) : retryWhileLocked(call);
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
