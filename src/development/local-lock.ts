/**
 * Waits while another program has locked the local database, as an import does while it applies
 * its listings. Deployed databases have no locks.
 */

const LOCKED = /SQLITE_BUSY|database is locked|Failed to get session commit token/i;
const PAUSE_MS = 200;
/** The longest that the service waits for D1: see src/storage/d1.ts. */
const MAX_WAIT_MS = 10_000;

/** These return a session or a statement, and call nothing. */
const MAKERS: ReadonlySet<unknown> = new Set(['withSession', 'prepare', 'bind']);

/** Returns the database with every call repeated until it meets no lock, for 10 s at most. */
export function waitForLocks(database: D1Database): D1Database {
  /** D1 takes only its own statements in a batch. */
  const originals = new WeakMap<object, object>();
  const wrap = <T extends object>(original: T): T => {
    const wrapped = new Proxy(original, {
      get: (_, name) => {
        const method: unknown = Reflect.get(original, name);
        if (typeof method !== 'function') return method;
        return (...values: unknown[]) => {
          const [statements] = values;
          const isBatch = Array.isArray(statements);
          const sent = isBatch ? [statements.map((each) => originals.get(each) ?? each)] : values;
          const call = () => Reflect.apply(method, original, sent);
          return MAKERS.has(name) ? wrap(call()) : retryWhileLocked(call);
        };
      },
    });
    originals.set(wrapped, original);
    return wrapped;
  };
  return wrap(database);
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
