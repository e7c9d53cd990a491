/**
 * Bindings that a test listens in on or meddles with: the real binding, each of its calls handed to
 * the test before it is made. `counting.ts` and `faults.ts` are made of these.
 */

/** One call of a binding: making it gives what the real binding gives. */
export type Call<Result> = () => Promise<Result>;

/** Makes the call, or does something else in its place. */
export type Tap<Result> = (call: Call<Result>, method: string) => Promise<Result>;

/** A database each of whose round trips passes through `tap`: a batch is one, and so is a statement run by itself. */
export function tapD1(database: D1Database, tap: Tap<D1Result[]>): D1Database {
  const originals = new WeakMap<D1PreparedStatement, D1PreparedStatement>();

  const one = async (statement: D1PreparedStatement, method: string): Promise<D1Result> => {
    const [result] = await tap(async () => [await statement.all()], method);
    if (result === undefined) throw new Error('a round trip of one statement gives one result');
    return result;
  };
  const tapStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const tapped = withMethods(statement, {
      bind: (...values: unknown[]) => tapStatement(statement.bind(...values)),
      all: () => one(statement, 'all'),
      run: () => one(statement, 'run'),
      first: async (column?: string) => {
        const [row] = (await one(statement, 'first')).results;
        return row === undefined
          ? null
          : column === undefined
            ? row
            : Reflect.get(Object(row), column);
      },
      /** Bare rows come without D1's account of them, hence made from whole ones. */
      raw: async () =>
        (await one(statement, 'raw')).results.map((row) => Object.values(Object(row))),
    });
    originals.set(tapped, statement);
    return tapped;
  };
  const tapSession = <Session extends D1Database | D1DatabaseSession>(session: Session): Session =>
    withMethods(session, {
      prepare: (query: string) => tapStatement(session.prepare(query)),
      batch: (statements: D1PreparedStatement[]) =>
        tap(() => session.batch(statements.map((each) => originals.get(each) ?? each)), 'batch'),
      withSession: (constraint?: string) => tapSession(database.withSession(constraint)),
    });
  return tapSession(database);
}

/** A namespace each of whose calls (`get`, `put`, `delete`, `list`) passes through `tap`. */
export function tapKv(namespace: KVNamespace, tap: Tap<unknown>): KVNamespace {
  const tapped = (method: 'get' | 'put' | 'delete' | 'list') => ({
    [method]: (...values: unknown[]) =>
      tap(async () => Reflect.apply(namespace[method], namespace, values), method),
  });
  return withMethods(namespace, {
    ...tapped('get'),
    ...tapped('put'),
    ...tapped('delete'),
    ...tapped('list'),
  });
}

/** Durable Objects each of whose remote calls passes through `tap`. */
export function tapObjects<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  tap: Tap<unknown>,
): DurableObjectNamespace<T> {
  const tapStub = <Stub extends object>(stub: Stub): Stub =>
    new Proxy(stub, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) =>
          tap(async () => Reflect.apply(value, target, values), String(name));
      },
    });
  return withMethods(namespace, {
    get: (id: DurableObjectId) => tapStub(namespace.get(id)),
    getByName: (name: string) => tapStub(namespace.getByName(name)),
  });
}

/** The object with some methods replaced; the others are called on the object itself. */
function withMethods<T extends object>(object: T, methods: Record<string, unknown>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (typeof name === 'string' && name in methods) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
