/** The contents of an account of the stand-in, and its responses to the calls of the API. */

import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { ApiFault, Database } from './database.ts';

export const ACCOUNT_ID = 'a'.repeat(32);
const MAX_PER_PAGE = 100;

/** What a route returns becomes the result of the envelope; a list becomes one page of it. */
type Call = { query: URLSearchParams; body: string; name: string };

type Version = {
  id: string;
  tag: string;
  message: string;
  /** The ids of the database and of the namespace. */
  bound: (string | undefined)[];
  /** The parts of the upload, as one text. */
  script: string;
};

/** The part `metadata` of an upload. */
const metadata = z.object({
  bindings: z.array(
    z.object({ type: z.string(), id: z.string().optional(), namespace_id: z.string().optional() }),
  ),
  annotations: z.record(z.string(), z.string()).default({}),
});

export class Account {
  readonly databases: Database[] = [];
  readonly namespaces: { id: string; title: string; jurisdiction?: unknown }[] = [];
  /** The custom domains, each with the Worker that it leads to. */
  readonly domains: { hostname: string; service: string }[] = [];
  /** The versions of each Worker; the last one serves. */
  readonly workers = new Map<string, Version[]>();
  /** The states that the deployed Worker reports. */
  health: Record<string, 'ok' | 'down'> = { database: 'ok', rate_limiter: 'ok' };
  /** The version that was deployed last, of any Worker: its health is served. */
  latest: string | undefined;

  close(): void {
    for (const { sqlite } of this.databases) sqlite.close();
  }

  /** Makes a database, as another program would. */
  createDatabase(name: string, location?: unknown, jurisdiction?: unknown): Database {
    const database = new Database(name, location, jurisdiction);
    this.databases.push(database);
    return database;
  }

  database(name: string): Database {
    const found = this.databases.find((each) => each.name === name || each.uuid === name);
    if (found === undefined) throw new ApiFault(404, 7404, `The database ${name} is not found`);
    return found;
  }

  /** Deploys a version, as wrangler's upload does. */
  upload(worker: string, version: Omit<Version, 'id'>): string {
    const id = randomUUID();
    this.workers.set(worker, [...(this.workers.get(worker) ?? []), { ...version, id }]);
    this.latest = id;
    return id;
  }

  /** Returns the version of a Worker that serves. */
  served(worker: string): Version {
    const version = this.workers.get(worker)?.at(-1);
    if (version === undefined) throw new ApiFault(404, 10007, `There is no Worker ${worker}`);
    return version;
  }

  /** Returns the body of a response; undefined for a call that it does not know. */
  respond(request: string, query: URLSearchParams, body: string): object | undefined {
    if (request === 'GET /api/health/detailed') return this.#detailedHealth();
    const path = request.replace(`/accounts/${ACCOUNT_ID}`, '');
    for (const [route, handler] of Object.entries(this.#routes)) {
      const match = new RegExp(`^${route.replaceAll(':name', '(?<name>[^/]+)')}$`).exec(path);
      if (match === null) continue;
      const result = handler({ query, body, name: match.groups?.name ?? '' });
      const page = Array.isArray(result) ? pageOf(result, query) : { result };
      return { success: true, errors: [], messages: [], ...page };
    }
    return undefined;
  }

  readonly #routes: Record<string, (call: Call) => unknown> = {
    'GET /memberships': () => [{ id: 'm', account: { id: ACCOUNT_ID } }],
    'GET /accounts': () => [{ id: ACCOUNT_ID, name: 'Stand-in' }],

    'GET /d1/database': ({ query }) =>
      this.databases.filter(({ name }) => name.includes(query.get('name') ?? '')),
    'POST /d1/database': ({ body }) => {
      const { name, primary_location_hint, jurisdiction } = JSON.parse(body);
      if (this.databases.some((each) => each.name === name))
        throw new ApiFault(400, 7502, 'exists');
      return this.createDatabase(name, primary_location_hint, jurisdiction);
    },
    'GET /d1/database/:name': ({ name }) => this.database(name),
    'PUT /d1/database/:name': ({ name, body }) =>
      Object.assign(this.database(name), JSON.parse(body)),
    'POST /d1/database/:name/query': ({ name, body }) => this.database(name).query(body),
    'GET /d1/database/:name/time_travel/bookmark': ({ name }) => {
      return { bookmark: this.database(name).bookmark() };
    },

    'GET /storage/kv/namespaces': () => this.namespaces,
    'POST /storage/kv/namespaces': ({ body }) => {
      const { title, jurisdiction } = JSON.parse(body);
      if (this.namespaces.some((each) => each.title === title)) {
        throw new ApiFault(400, 10014, 'a namespace with this title exists');
      }
      const namespace = { id: randomUUID().replaceAll('-', ''), title, jurisdiction };
      this.namespaces.push(namespace);
      return namespace;
    },

    'GET /workers/services/:name': ({ name }) => {
      const script = { id: name, tag: this.served(name).id, tags: [], migration_tag: 'v1' };
      return { default_environment: { environment: 'production', script } };
    },
    // Wrangler uploads and deploys a new Worker at once, and a version of a Worker in two calls.
    'PUT /workers/scripts/:name': ({ name, body }) => this.#upload(name, body),
    'POST /workers/scripts/:name/versions': ({ name, body }) => this.#upload(name, body),
    'POST /workers/scripts/:name/deployments': () => ({ id: this.latest }),
    'GET /workers/scripts/:name/deployments': ({ name }) => {
      const { id } = this.served(name);
      return { deployments: [{ id, versions: [{ version_id: id, percentage: 100 }] }] };
    },
    'GET /workers/scripts/:name/settings': () => ({ bindings: [], tags: [], annotations: {} }),
    'PATCH /workers/scripts/:name/script-settings': () => ({}),
    'GET /workers/scripts/:name/secrets': () => [],
    'GET /workers/workers/:name': ({ name }) => {
      return { id: name, name, subdomain: { enabled: true, previews_enabled: false } };
    },
    'GET /workers/subdomain': () => ({ subdomain: 'example' }),
    '(GET|POST) /workers/scripts/:name/subdomain': () => ({ enabled: true }),
    'GET /workers/domains': ({ query }) =>
      this.domains.filter(({ hostname }) => hostname === query.get('hostname')),
    'POST /workers/scripts/:name/domains/changeset': () => {
      return { added: [], removed: [], updated: [], conflicting: [] };
    },
    'PUT /workers/scripts/:name/domains/records': ({ name, body }) => {
      for (const { hostname } of JSON.parse(body).origins) {
        this.domains.push({ hostname, service: name });
      }
    },
  };

  #upload(name: string, body: string): object {
    const text = /name="metadata"[^{]*(\{.*\})/.exec(body)?.[1] ?? '{}';
    const { bindings, annotations } = metadata.parse(JSON.parse(text));
    const id = this.upload(name, {
      tag: annotations['workers/tag'] ?? '',
      message: annotations['workers/message'] ?? '',
      bound: ['d1', 'kv_namespace'].map((wanted) => {
        const bound = bindings.find(({ type }) => type === wanted);
        return bound?.id ?? bound?.namespace_id;
      }),
      script: body,
    });
    const resources = { bindings, script: { handlers: ['fetch'] }, script_runtime: {} };
    return { id, deployment_id: id, startup_time_ms: 5, resources, metadata: {} };
  }

  /** The health of the deployed Worker, in its place: the bundle is not run here. */
  #detailedHealth(): object {
    const states = Object.entries(this.health);
    const isDegraded = states.some(([, status]) => status === 'down');
    return {
      status: this.health.database === 'down' ? 'down' : isDegraded ? 'degraded' : 'ok',
      deployment: { id: this.latest },
      dependencies: Object.fromEntries(states.map(([name, status]) => [name, { status }])),
    };
  }
}

function pageOf(items: readonly unknown[], query: URLSearchParams): object {
  const page = Number(query.get('page') ?? '1');
  const per_page = Math.min(Number(query.get('per_page') ?? '20'), MAX_PER_PAGE);
  const total_pages = Math.ceil(items.length / per_page);
  const result_info = { page, per_page, total_count: items.length, total_pages };
  return { result: items.slice((page - 1) * per_page, page * per_page), result_info };
}
