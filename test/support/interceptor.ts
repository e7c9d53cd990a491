/**
 * Taps on bindings: each call of the real binding is handed to the test, which makes it or does
 * something else. counting.ts and faults.ts are made of these.
 */

/** One call of a binding, to be made or not. Returns the real binding's result. */
export type Call<Result> = () => Promise<Result>;

/** Makes the call, or does something else in its place. */
type Tap = (call: Call<unknown>, method: string) => Promise<unknown>;

/** The constraint is that of the session. */
type D1Tap = (call: Call<D1Result[]>, constraint?: string) => Promise<D1Result[]>;

/**
 * Returns a database whose round trips pass through `tap`: a batch is one, a statement run by
 * itself too.
 */
export function interceptD1(database: D1Database, tap: D1Tap): D1Database {
  const tapSession = <Session extends D1Database | D1DatabaseSession>(
    session: Session,
    constraint?: string,
  ): Session => {
    const one = async (statement: D1PreparedStatement): Promise<D1Result> => {
      const [result] = await tap(async () => [await statement.all()], constraint);
      if (result === undefined) throw new Error('a round trip of one statement gives one result');
      return result;
    };
    const tapStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
      return withMethods(statement, {
        bind: (...values: unknown[]) => tapStatement(statement.bind(...values)),
        all: () => one(statement),
        run: () => one(statement),
        first: async (column?: string) => {
          const [row = null] = (await one(statement)).results as Record<string, unknown>[];
          return row === null || column === undefined ? row : row[column];
        },
      });
    };
    return withMethods(session, {
      prepare: (query: string) => tapStatement(session.prepare(query)),
      batch: (statements: D1PreparedStatement[]) =>
        tap(() => session.batch(statements), constraint),
      withSession: (own?: string) => tapSession(database.withSession(own), own),
    });
  };
  return tapSession(database);
}

/** Returns Durable Objects whose remote calls pass through `tap`. */
export function interceptObjects<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  tap: Tap,
): DurableObjectNamespace<T> {
  return withMethods(namespace, {
    get: (id: DurableObjectId) => interceptMethods(namespace.get(id), tap),
  });
}

/** Returns the object, e.g. KV or a cache, with every call of a method passing through `tap`. */
export function interceptMethods<T extends object>(object: T, tap: Tap): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const call = async (...values: unknown[]) => Reflect.apply(value, target, values);
      return (...values: unknown[]) => tap(() => call(...values), String(name));
    },
  });
}

/** Returns the object with some methods replaced. The others are called on the object itself. */
export function withMethods<T extends object>(object: T, methods: Record<string, unknown>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (typeof name === 'string' && name in methods) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
