/**
 * Fakes Cloudflare's API on loopback for wrangler and the project's commands. Implements the calls
 * that they make, stores D1 databases in SQLite, and can make any request fail.
 *
 * docs/operate/runbook.md lists the behaviour of the real service that the fake does not reproduce.
 */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import { Database, type Statement } from './database.ts';

/**
 * Maximum requests per user in five minutes, from
 * developers.cloudflare.com/fundamentals/api-rate-limits as of November 2026.
 */
const MAX_REQUESTS = 1_200;
const FIVE_MINUTES_MS = 300_000;

export const ACCOUNT_ID = 'a'.repeat(32);

class NotFoundError extends Error {}

const DEPLOYED_AT = '2026-11-20T10:00:00Z';
const DEPLOYED_BY = 'anna@example.com';

/**
 * The response to a request that fails. If `isAfter` is set, the request takes effect before it
 * fails.
 */
export type Fault = { status: number; isAfter?: boolean; retryAfter?: string };

/**
 * A version of a Worker. `bound` contains the ids of its database and its KV namespace. `script` is
 * the complete upload.
 */
type Version = { id: string; tag: string; message: string; bound: unknown[]; script: string };

/**
 * An identity provider's key set. The first two keys are usable. The third is private, and the
 * fourth has no type.
 */
const KEY_SET = {
  keys: [{ kty: 'RSA' }, { kty: 'EC' }, { kty: 'RSA', d: 'AQAB' }, { kid: 'no-type' }],
};

type Namespace = { id: string; title: string; jurisdiction?: string };
type Reply = { status: number; body: object };
type Call = { name: string; body: string; query: URLSearchParams };

export class FakeCloudflare {
  readonly accounts = [{ id: ACCOUNT_ID }];
  readonly databases: Database[] = [];
  readonly namespaces: Namespace[] = [];
  /** The custom domains, and the Worker that each belongs to. */
  readonly domains: { hostname: string; service: string }[] = [];
  /** Maps a Worker's name to its active version. */
  readonly workers = new Map<string, Version>();
  /** Matches the requests that the token has no permission for. */
  denied: RegExp | undefined;
  /** The dependency states in the health response of the latest deployed Worker. */
  health: Record<string, 'ok' | 'down'> = { database: 'ok', rate_limiter: 'ok' };
  /** All requests so far, in the form `METHOD /path`. */
  readonly requests: string[] = [];
  /** Returns the time in milliseconds that the request limit uses. */
  now = () => Date.now();
  /** Times of the requests in the past five minutes. */
  #received: number[] = [];
  #blockedUntil = 0;
  /** Returns the fault of a request; undefined if the request must succeed. */
  fault: (request: string, body: string) => Fault | undefined = () => undefined;
  #latest: string | undefined;
  readonly #server: Server = createServer((request, response) => {
    void this.#serve(request, response);
  });

  /**
   * The server's origin. `SERVICE_ORIGIN` is also set to it, because the server reports the health
   * of the deployed Worker.
   */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Starts the server. This process and its child processes then use it instead of Cloudflare. */
  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', `${this.origin}/client/v4`);
    vi.stubEnv('CLOUDFLARE_API_TOKEN', 'token-of-the-fake');
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', '');
    vi.stubEnv('SERVICE_ORIGIN', this.origin);
    return this;
  }

  stop(): void {
    vi.unstubAllEnvs();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  database(name: string): Database {
    const match = this.databases.find((database) => [database.name, database.uuid].includes(name));
    if (match === undefined) throw new Error(`there is no database ${name}`);
    return match;
  }

  activeVersion(worker: string): Version {
    const version = this.workers.get(worker);
    if (version === undefined) throw new NotFoundError(`there is no Worker ${worker}`);
    return version;
  }

  /** Deploys a version like wrangler's upload, and returns the version's id. */
  upload(worker: string, version: Omit<Version, 'id'>): string {
    const id = randomUUID();
    this.workers.set(worker, { ...version, id });
    this.#latest = id;
    return id;
  }

  readonly #routes: Record<string, (call: Call) => unknown> = {
    'GET /accounts': () => this.accounts,

    'GET /d1/database': ({ query }) =>
      this.databases.filter(({ name }) => name.includes(query.get('name') ?? '')),
    'POST /d1/database': ({ body }) => {
      const { name, ...options } = JSON.parse(body);
      const isDuplicate = this.databases.some((database) => database.name === name);
      if (isDuplicate) throw new Error('the name exists');
      this.databases.push(new Database(name, options));
      return this.database(name);
    },
    'GET /d1/database/:name': ({ name }) => this.database(name),
    'PUT /d1/database/:name': ({ name, body }) =>
      Object.assign(this.database(name), JSON.parse(body)),
    'POST /d1/database/:name/query': ({ name, body }) => {
      const request: Statement & { batch?: Statement[] } = JSON.parse(body);
      const resultSets = this.database(name).query(request.batch ?? [request]);
      return resultSets.map((results) => ({ success: true, results }));
    },
    'GET /d1/database/:name/time_travel/bookmark': () => ({ bookmark: '00000000-0000024c' }),

    'GET /storage/kv/namespaces': ({ query }) =>
      this.namespaces.slice(0, Number(query.get('per_page') ?? 20)),
    'POST /storage/kv/namespaces': ({ body }) => {
      const namespace = { ...JSON.parse(body), id: randomUUID().replaceAll('-', '') };
      const isDuplicate = this.namespaces.some(({ title }) => title === namespace.title);
      if (isDuplicate) throw new Error('the title exists');
      this.namespaces.push(namespace);
      return namespace;
    },

    'GET /workers/domains': () => this.domains,
    'PUT /workers/scripts/:name': ({ name, body }) => this.#upload(name, body),
    'GET /workers/workers/:name': ({ name }) => {
      return { id: name, name, subdomain: { enabled: true, previews_enabled: false } };
    },
    'GET /workers/scripts/:name/deployments': ({ name }) => {
      const { id } = this.activeVersion(name);
      const versions = [{ version_id: id, percentage: 100 }];
      return { deployments: [{ created_on: DEPLOYED_AT, author_email: DEPLOYED_BY, versions }] };
    },
    'GET /workers/scripts/[^/]+/versions/:name': ({ name }) => {
      const version = [...this.workers.values()].find(({ id }) => id === name);
      return { id: name, annotations: { 'workers/tag': version?.tag } };
    },
    'GET /workers/subdomain': () => ({ subdomain: 'example' }),
    'POST /workers/scripts/:name/subdomain': () => ({ enabled: true }),
  };

  /** Handles the first upload of a Worker, which also deploys it. */
  #upload(name: string, body: string): object {
    const [, metadata = ''] = /name="metadata"[^{]*(\{.*\})/.exec(body) ?? [];
    const { bindings, annotations } = JSON.parse(metadata);
    const getBinding = (bindingType: string) =>
      bindings.find(({ type }: { type: string }) => type === bindingType);
    const id = this.upload(name, {
      tag: annotations['workers/tag'],
      message: annotations['workers/message'],
      bound: [getBinding('d1').id, getBinding('kv_namespace').namespace_id],
      script: body,
    });
    return { id, deployment_id: id, startup_time_ms: 5 };
  }

  /** Returns the health that the deployed Worker would report. The Worker itself does not run. */
  #detailedHealth(): object {
    const states = Object.entries(this.health);
    const isDegraded = states.some(([, status]) => status === 'down');
    return {
      status: this.health.database === 'down' ? 'down' : isDegraded ? 'degraded' : 'ok',
      deployment: { id: this.#latest },
      dependencies: Object.fromEntries(states.map(([name, status]) => [name, { status }])),
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.origin);
    const body = await text(request);
    const path = pathname.replace('/client/v4', '').replace(`/accounts/${ACCOUNT_ID}`, '');
    const name = `${request.method} ${path}`;
    this.requests.push(name);
    if (!path.startsWith('/api/')) this.count(1);
    const isBlocked = this.now() < this.#blockedUntil;
    const fault: Fault | undefined = isBlocked ? { status: 429 } : this.fault(name, body);
    const carryOut = () => this.#respond(name, searchParams, body);
    if (fault?.isAfter) carryOut();
    const { status, body: payload } = this.denied?.test(name)
      ? rejection(403, 10_000, 'Authentication error')
      : fault
        ? rejection(fault.status, 10_001, 'a fault')
        : carryOut();
    // Statuses from 500 come from a proxy in front of the API.
    const isProxy = status >= 500;
    if (fault?.retryAfter) response.setHeader('Retry-After', fault.retryAfter);
    response.writeHead(status, { 'Content-Type': isProxy ? 'text/html' : 'application/json' });
    response.end(isProxy ? '<html></html>' : JSON.stringify(payload));
  }

  /**
   * Adds requests to the user's count, which includes requests from other programs. Once the count
   * exceeds the limit, blocks all requests for five minutes.
   */
  count(requests: number): void {
    const now = this.now();
    if (now < this.#blockedUntil) return;
    this.#received.push(...Array(requests).fill(now));
    this.#received = this.#received.filter((at) => at > now - FIVE_MINUTES_MS);
    if (this.#received.length <= MAX_REQUESTS) return;
    this.#blockedUntil = now + FIVE_MINUTES_MS;
    this.#received = [];
  }

  #respond(request: string, query: URLSearchParams, body: string): Reply {
    if (request === 'GET /api/health/detailed')
      return { status: 200, body: this.#detailedHealth() };
    // The key set URL of an identity provider.
    if (request === 'GET /api/keys') return { status: 200, body: KEY_SET };
    for (const [route, handler] of Object.entries(this.#routes)) {
      const match = new RegExp(`^${route.replaceAll(':name', '(?<name>[^/]+)')}$`).exec(request);
      if (match === null) continue;
      try {
        const result = handler({ query, body, name: match.groups?.name ?? '' });
        const reply = { success: true, errors: [], messages: [], result: result ?? null };
        return { status: 200, body: reply };
      } catch (error) {
        if (error instanceof NotFoundError) return rejection(404, 10_007, error.message);
        return rejection(400, 7_500, String(error));
      }
    }
    // Cloudflare's code for a Worker that does not exist is 10007.
    return rejection(404, 10_007, `FakeCloudflare does not implement ${request}`);
  }
}

function rejection(status: number, code: number, message: string): Reply {
  const errors = [{ code, message }];
  return { status, body: { success: false, errors, messages: [], result: null } };
}
