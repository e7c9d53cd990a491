/**
 * Intercepts calls to bindings. An interceptor receives each call, and makes it or replaces it.
 * `counting.ts` and `faults.ts` are built on this module.
 */

/** A call to the real binding. The interceptor can make the call or skip it. */
export type Call<Result> = () => Promise<Result>;

type Interceptor = (call: Call<unknown>, method: string) => Promise<unknown>;

/** Makes a round trip to D1, or replaces it. `constraint` is the constraint of the D1 session. */
type D1Interceptor = (call: Call<D1Result[]>, constraint?: string) => Promise<D1Result[]>;

/** Returns a database whose round trips are intercepted. A batch is one round trip. */
export function interceptD1(database: D1Database, intercept: D1Interceptor): D1Database {
  const interceptSession = <Session extends D1Database | D1DatabaseSession>(
    session: Session,
    constraint?: string,
  ): Session => {
    const one = async (statement: D1PreparedStatement): Promise<D1Result> => {
      const [result] = await intercept(async () => [await statement.all()], constraint);
      if (result === undefined) throw new Error('D1 returned no result for a statement');
      return result;
    };
    const interceptStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
      return withMethods(statement, {
        bind: (...values: unknown[]) => interceptStatement(statement.bind(...values)),
        all: () => one(statement),
        run: () => one(statement),
        first: async (column?: string) => {
          const [row = null] = (await one(statement)).results as Record<string, unknown>[];
          return row === null || column === undefined ? row : row[column];
        },
      });
    };
    return withMethods(session, {
      prepare: (query: string) => interceptStatement(session.prepare(query)),
      batch: (statements: D1PreparedStatement[]) =>
        intercept(() => session.batch(statements), constraint),
      withSession: (first?: string) => interceptSession(database.withSession(first), first),
    });
  };
  return interceptSession(database);
}

/** Returns a namespace whose Durable Objects have intercepted methods. */
export function interceptObjects<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  intercept: Interceptor,
): DurableObjectNamespace<T> {
  return withMethods(namespace, {
    get: (id: DurableObjectId) => interceptMethods(namespace.get(id), intercept),
  });
}

/** Returns an object, such as KV or a cache, whose method calls are intercepted. */
export function interceptMethods<T extends object>(object: T, intercept: Interceptor): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const call = async (...values: unknown[]) => Reflect.apply(value, target, values);
      return (...values: unknown[]) => intercept(() => call(...values), String(name));
    },
  });
}

/** Returns the object with some of its methods replaced. */
export function withMethods<T extends object>(object: T, methods: Record<string, unknown>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (typeof name === 'string' && name in methods) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
