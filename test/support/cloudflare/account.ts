/** The contents of an account of the stand-in, and its responses to the calls of the API. */

import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { ApiFault, type ApiResponse, page, result } from './api-response.ts';
import { Database } from './database.ts';
import { metadataOf, Worker } from './worker.ts';

export const ACCOUNT_ID = 'a'.repeat(32);

/** A call. `name` and `id` are the parts of its path that a route names so. */
type Call = { query: URLSearchParams; body: Buffer; contentType: string; name: string; id: string };

type Namespace = {
  id: string;
  title: string;
  supports_url_encoding: boolean;
  jurisdiction?: unknown;
};

export class Account {
  readonly databases: Database[] = [];
  readonly namespaces: Namespace[] = [];
  readonly zones: { id: string; name: string }[] = [];
  /** The custom domains, each with the Worker that it leads to. */
  readonly domains: { id: string; hostname: string; service: string; zone_id: string }[] = [];
  readonly workers = new Map<string, Worker>();
  /** Reports whether the deployed Worker says that its database is down. */
  isDown = false;
  /** Null: the account has no workers.dev subdomain. */
  subdomain: string | null = 'example';

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
    const found = this.databases.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the account has no database ${name}`);
    return found;
  }

  /** Returns undefined for a call that it does not know. */
  respond(
    request: string,
    query: URLSearchParams,
    body: Buffer,
    contentType: string,
  ): ApiResponse | undefined {
    const path = request.replace(`/accounts/${ACCOUNT_ID}`, '');
    for (const [route, handler] of Object.entries(this.#routes)) {
      const pattern = route.replaceAll(/:(name|id)/g, '(?<$1>[^/]+)').replaceAll('*', '[^/]+');
      const match = new RegExp(`^${pattern}$`).exec(path);
      if (match === null) continue;
      const { name = '', id = '' } = match.groups ?? {};
      return handler({ query, body, contentType, name, id });
    }
    return undefined;
  }

  readonly #routes: Record<string, (call: Call) => ApiResponse> = {
    'GET /api/health/detailed': () => this.#health(),
    'GET /memberships': ({ query }) => page([{ id: 'm', account: { id: ACCOUNT_ID } }], query),
    'GET /accounts': ({ query }) => page([{ id: ACCOUNT_ID, name: 'Stand-in' }], query),

    'GET /d1/database': ({ query }) => {
      const part = query.get('name') ?? '';
      const found = this.databases.filter(({ name }) => name.includes(part));
      const descriptions = found.map(({ description }) => description);
      return page(descriptions, query);
    },
    'POST /d1/database': ({ body }) => this.#createDatabase(jsonOf(body)),
    'GET /d1/database/:id': ({ id }) => result(this.#byId(id).description),
    'DELETE /d1/database/:id': ({ id }) => {
      this.databases.splice(this.databases.indexOf(this.#byId(id)), 1);
      return result(null);
    },
    'POST /d1/database/:id/query': ({ id, body }) => this.#byId(id).query(body),
    'GET /d1/database/:id/time_travel/bookmark': ({ id }) =>
      result({ bookmark: this.#byId(id).bookmark() }),
    'POST /d1/database/:id/time_travel/restore': ({ id, query }) => {
      const database = this.#byId(id);
      const previous_bookmark = database.bookmark();
      database.travelTo(query.get('bookmark'));
      return result({ bookmark: query.get('bookmark'), previous_bookmark });
    },

    'GET /storage/kv/namespaces': ({ query }) => page(this.namespaces, query),
    'POST /storage/kv/namespaces': ({ body }) => this.#createNamespace(jsonOf(body)),
    'DELETE /storage/kv/namespaces/:id': ({ id }) => {
      const index = this.namespaces.findIndex((each) => each.id === id);
      if (index < 0) throw new ApiFault(404, 10013, 'namespace not found');
      return result(this.namespaces.splice(index, 1));
    },

    'GET /workers/subdomain': () => {
      if (this.subdomain === null) throw new ApiFault(404, 10007, 'subdomain not found');
      return result({ subdomain: this.subdomain });
    },
    'GET /workers/services/:name': ({ name }) => result(this.#worker(name).service),
    'PUT /workers/scripts/:name': ({ name, body, contentType }) => {
      const worker = this.workers.get(name) ?? new Worker(name);
      const response = worker.upload(metadataOf(body, contentType));
      this.workers.set(name, worker);
      return response;
    },
    'GET /workers/scripts/:name/(settings|script-settings)': ({ name }) =>
      result(this.#worker(name).settings),
    'PATCH /workers/scripts/*/script-settings': () => result({}),
    'GET /workers/scripts/:name/deployments': ({ name }) =>
      result({ deployments: this.#worker(name).deployments }),
    'POST /workers/scripts/:name/deployments': ({ name, body }) =>
      this.#worker(name).deploy(jsonOf(body)),
    'GET /workers/scripts/:name/versions': ({ name }) => {
      const worker = this.#worker(name);
      return result({ items: worker.versions.map(({ id }) => worker.version(id)) });
    },
    'POST /workers/scripts/:name/versions': ({ name, body, contentType }) =>
      this.#worker(name).uploadVersion(metadataOf(body, contentType)),
    'GET /workers/scripts/:name/versions/:id': ({ name, id }) =>
      result(this.#worker(name).version(id)),
    'GET /workers/scripts/:name/secrets': ({ name }) => result(this.#worker(name).secretNames),
    'PUT /workers/scripts/:name/secrets': ({ name, body }) =>
      this.#worker(name).putSecret(jsonOf(body)),
    '(GET|POST) /workers/scripts/*/subdomain': () =>
      result({ enabled: true, previews_enabled: false }),
    'GET /workers/workers/:name': ({ name }) => {
      const { name: id } = this.#worker(name);
      return result({ id, name: id, subdomain: { enabled: true, previews_enabled: false } });
    },
    'GET /workers/scripts/*/references': () => result({}),
    'GET /workers/tails/by-consumer/*': () => result([]),
    'DELETE /workers/(scripts|services)/:name': ({ name }) =>
      result(this.workers.delete(this.#worker(name).name)),

    'GET /zones': ({ query }) => page(this.zones, query),
    'DELETE /zones/*/workers/routes/*': () => {
      throw new ApiFault(404, 10007, 'The route is not found');
    },
    'GET /workers/domains': ({ query }) =>
      page(
        this.domains.filter(({ hostname }) => hostname === query.get('hostname')),
        query,
      ),
    'POST /workers/scripts/*/domains/changeset': () =>
      result({ added: [], removed: [], updated: [], conflicting: [] }),
    'PUT /workers/scripts/:name/domains/records': ({ name, body }) =>
      this.#leadDomains(name, jsonOf(body)),
  };

  #byId(id: string): Database {
    const found = this.databases.find(({ uuid, name }) => uuid === id || name === id);
    if (found === undefined) throw new ApiFault(404, 7404, 'The database is not found');
    return found;
  }

  #createDatabase(body: Record<string, unknown>): ApiResponse {
    const { name, primary_location_hint, jurisdiction } = body;
    if (typeof name !== 'string') throw new ApiFault(400, 7400, 'name is required');
    if (this.databases.some((each) => each.name === name)) throw new ApiFault(400, 7502, 'exists');
    return result(this.createDatabase(name, primary_location_hint, jurisdiction).description);
  }

  #createNamespace({ title, jurisdiction }: Record<string, unknown>): ApiResponse {
    if (typeof title !== 'string') throw new ApiFault(400, 10014, 'title is required');
    if (this.namespaces.some((each) => each.title === title)) {
      throw new ApiFault(400, 10014, 'exists');
    }
    const id = randomUUID().replaceAll('-', '');
    const namespace = { id, title, supports_url_encoding: true, jurisdiction };
    this.namespaces.push(namespace);
    return result(namespace);
  }

  /** As wrangler asks for it: a domain that led to another Worker leads to this one. */
  #leadDomains(service: string, { origins }: Record<string, unknown>): ApiResponse {
    for (const { hostname } of z.array(z.looseObject({ hostname: z.string() })).parse(origins)) {
      const known = this.domains.findIndex((each) => each.hostname === hostname);
      if (known >= 0) this.domains.splice(known, 1);
      this.domains.push({ id: randomUUID(), hostname, service, zone_id: 'z' });
    }
    return result({});
  }

  #worker(name: string): Worker {
    const worker = this.workers.get(name);
    if (worker === undefined) {
      throw new ApiFault(404, 10007, 'This Worker does not exist on your account.');
    }
    return worker;
  }

  /** The health of the Worker that was deployed last, in its place: the bundle is not run here. */
  #health(): ApiResponse {
    const worker = [...this.workers.values()].sort((a, b) => a.deployedAt - b.deployedAt).at(-1);
    if (worker === undefined) return { status: 404, body: {} };
    const { id, tag, databaseId } = worker.current;
    const database = this.#byId(databaseId);
    const tables = database.rows(
      `SELECT name FROM sqlite_schema WHERE name IN ('events', 'properties')`,
    );
    const status = tables.length === 2 && !this.isDown ? 'ok' : 'down';
    const up = { status: 'ok', latency_ms: 1 };
    return {
      status: status === 'ok' ? 200 : 503,
      body: {
        object: 'health',
        status,
        deployment: { id, tag },
        dependencies: {
          database: { status, latency_ms: 1 },
          idempotency_cache: up,
          rate_limiter: up,
        },
      },
    };
  }
}

function jsonOf(body: Buffer): Record<string, unknown> {
  return JSON.parse(body.toString() || '{}');
}
