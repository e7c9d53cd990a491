/** Speaks HTTP to the Worker under test. */

import { exports } from 'cloudflare:workers';
import { expect } from 'vitest';

export const API_KEY = 'test-key-one';

/** GETs with the API key; `init.headers` are added to it. */
export function get(path: string, init: RequestInit = {}): Promise<Response> {
  return send(path, init);
}

/** Sends a request to the service, with a valid `x-api-key` unless `headers` set one. */
export function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has('x-api-key')) headers.set('x-api-key', API_KEY);
  return exports.default.fetch(new Request(`https://api.example.com${path}`, { ...init, headers }));
}

/** Expects a status and shows the body when it is another. */
export async function expectStatus(response: Response, status: number): Promise<void> {
  const body = response.status === status ? '' : await response.clone().text();
  expect({ status: response.status, body }).toEqual({ status, body: '' });
}
