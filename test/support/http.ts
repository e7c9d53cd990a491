/** Sends requests to the Worker under test, in workerd. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { expect } from 'vitest';
import { createApp } from '../../src/app.ts';
import { errorResource } from '../../src/openapi/error-resource.ts';
import { differencesFromDocument } from './documented.ts';

export const API_KEY = 'test-key-number-one';

/** Sends a GET request. See `send`. */
export function get(path: string, init: RequestInit = {}): Promise<Response> {
  return send(path, init);
}

/**
 * Sends a request to the service, with a valid `x-api-key` and a new client address unless
 * `headers` contain their own. Fails the test if the OpenAPI document does not describe the
 * response.
 */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const request = createRequest(path, init);
  const response = await exports.default.fetch(request);
  await expectDocumented(request, response);
  return response;
}

export type Call = {
  response: Response;
  /** Resolves once all work has ended, including work that continues after the response. */
  settled: Promise<void>;
};

/**
 * Bindings and vars that replace the configured ones. `API_KEYS` is declared separately because
 * wrangler.toml does not contain it.
 */
export type Changes = Omit<Partial<Env>, 'API_KEYS'> & {
  API_KEYS?: unknown;
};

type Service = {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response>;
};

/**
 * Sends a request to `app`, or to a new app, with changed bindings or vars. Does not wait for work
 * that continues after the response.
 */
export async function callWith(...sent: Parameters<typeof fetchWith>): Promise<Call> {
  const { request, ...call } = await fetchWith(...sent);
  await expectDocumented(request, call.response);
  return call;
}

/** Like `callWith`, but waits until all work has ended. */
export async function sendWith(...sent: Parameters<typeof fetchWith>): Promise<Response> {
  const { response, settled } = await callWith(...sent);
  await settled;
  return response;
}

/** Like `sendWith`, for a response that the OpenAPI document does not describe. */
export async function sendUndescribed(...sent: Parameters<typeof fetchWith>): Promise<Response> {
  const { response, settled } = await fetchWith(...sent);
  await settled;
  return response;
}

async function fetchWith(
  changes: Changes,
  path: string,
  init: RequestInit = {},
  app: Service = createApp(),
): Promise<Call & { request: Request }> {
  const ctx = createExecutionContext();
  const request = createRequest(path, init);
  const response = await app.fetch(request, { ...env, ...changes }, ctx);
  return { request, response, settled: waitOnExecutionContext(ctx) };
}

/** Creates a request. `path` can also be a complete URL. */
function createRequest(path: string, init: RequestInit): Request {
  const headers = new Headers(init.headers);
  if (!headers.has('x-api-key')) headers.set('x-api-key', API_KEY);
  if (!headers.has('CF-Connecting-IP')) headers.set('CF-Connecting-IP', freshAddress());
  const url = path.startsWith('/') ? `https://api.example.com${path}` : path;
  return new Request(url, { ...init, headers });
}

/**
 * Checks that the OpenAPI document describes a response. Ignores preflights, which the document
 * does not describe.
 */
export async function expectDocumented(request: Request, response: Response): Promise<void> {
  const isOptions = request.method === 'OPTIONS';
  if (isOptions && request.headers.has('Access-Control-Request-Method')) return;
  const { pathname } = new URL(request.url);
  const differences = await differencesFromDocument(request.method, pathname, response);
  expect(differences, `${request.method} ${pathname}`).toEqual([]);
}

/** Returns a client address that no other test uses. */
export function freshAddress(): string {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3));
  return `10.${a}.${b}.${c}`;
}

/** Checks the status of a response. If the status differs, the failure shows the body. */
export async function expectStatus(response: Response, status: number): Promise<void> {
  const body = response.status === status ? '' : await response.clone().text();
  expect({ status: response.status, body }).toEqual({ status, body: '' });
}

/** Checks that a response has a complete and consistent error envelope. Returns its `error`. */
export async function expectError(response: Response, status: number, code: string) {
  await expectStatus(response, status);
  const body = errorResource.parse(await response.json());
  expect(body.error.code).toBe(code);
  expect(body.statusCode).toBe(status);
  expect(body.message).toBe(body.error.message);
  expect(body.error.request_id).toBe(response.headers.get('X-Request-ID'));
  expect(body.path).not.toContain('?');
  expect(response.headers.get('X-Should-Retry')).toBe(
    [429, 500, 503].includes(status) ? 'true' : 'false',
  );
  if (code === 'validation_error') expect(body.error.details?.length).toBeGreaterThan(0);
  return body.error;
}

/**
 * Checks that a response is a `validation_error` with these paths in `details` and the first path
 * as `param`. Returns the messages.
 */
export async function expectProblems(response: Response, paths: readonly string[]) {
  const { type, param, details = [] } = await expectError(response, 400, 'validation_error');
  expect(type).toBe('invalid_request_error');
  expect(details.map(({ path }) => path)).toEqual(paths);
  expect(param).toBe(paths[0] || undefined);
  return details.map(({ message }) => message);
}

/**
 * Yields all pages of a list. `read` receives the query parameter for the next page, e.g.
 * `&cursor=…`, or an empty string for the first page.
 */
export async function* readAllPages<Page extends { has_more: boolean; next_cursor: string | null }>(
  read: (next: string) => Promise<Page>,
  pager = 'cursor',
) {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await read(cursor && `&${pager}=${cursor}`);
    expect(page.has_more).toBe(page.next_cursor !== null);
    yield page;
    cursor = page.next_cursor;
  }
}
