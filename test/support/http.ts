/** Speaks HTTP to the Worker under test. */

import { exports } from 'cloudflare:workers';
import { expect } from 'vitest';
import * as z from 'zod';

export const API_KEY = 'test-key-one';

const errorEnvelope = z.strictObject({
  error: z.strictObject({
    type: z.string(),
    code: z.string(),
    message: z.string().min(1),
    param: z.string().optional(),
    request_id: z.string(),
    details: z.array(z.strictObject({ path: z.string(), message: z.string().min(1) })).optional(),
  }),
  statusCode: z.int(),
  timestamp: z.iso.datetime(),
  path: z.string(),
  method: z.string(),
  message: z.string(),
});

/** GETs with the API key; `init.headers` are added to it. */
export function get(path: string, init: RequestInit = {}): Promise<Response> {
  return send(path, init);
}

/**
 * Sends a request to the service, with a valid `x-api-key` and from an address of its own unless
 * `headers` set them.
 */
export function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has('x-api-key')) headers.set('x-api-key', API_KEY);
  if (!headers.has('CF-Connecting-IP')) headers.set('CF-Connecting-IP', freshAddress());
  return exports.default.fetch(new Request(`https://api.example.com${path}`, { ...init, headers }));
}

/** A client address that nobody has used yet. */
export function freshAddress(): string {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3));
  return `10.${a}.${b}.${c}`;
}

/** Expects a status and shows the body when it is another. */
export async function expectStatus(response: Response, status: number): Promise<void> {
  const body = response.status === status ? '' : await response.clone().text();
  expect({ status: response.status, body }).toEqual({ status, body: '' });
}

/** Expects the error envelope, whole and consistent, and gives its `error`. */
export async function expectError(response: Response, status: number, code: string) {
  await expectStatus(response, status);
  const body = errorEnvelope.parse(await response.json());
  expect(body.error.code).toBe(code);
  expect(body.statusCode).toBe(status);
  expect(body.message).toBe(body.error.message);
  expect(body.error.request_id).toBe(response.headers.get('X-Request-ID'));
  expect(body.path).not.toContain('?');
  expect(response.headers.get('X-Should-Retry')).toBe(
    status === 429 || status === 500 ? 'true' : 'false',
  );
  if (code === 'validation_error') expect(body.error.details?.length).toBeGreaterThan(0);
  return body.error;
}
