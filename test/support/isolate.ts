/** The service with bindings of the test's own, as one isolate of it would run. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { createApp } from '../../src/app.ts';
import { API_KEY, expectDocumented, freshAddress } from './http.ts';

const app = createApp();

export type Call = {
  response: Response;
  /** Ends when the work does that the answer did not wait for. */
  settled: Promise<void>;
};

/** Calls the service under other bindings or vars and does not wait for its background work. */
export async function callWith(
  changes: Partial<Env>,
  path: string,
  init: RequestInit = {},
): Promise<Call> {
  const ctx = createExecutionContext();
  const headers = new Headers(init.headers);
  if (!headers.has('x-api-key')) headers.set('x-api-key', API_KEY);
  if (!headers.has('CF-Connecting-IP')) headers.set('CF-Connecting-IP', freshAddress());
  const request = new Request(`https://api.example.com${path}`, { ...init, headers });
  const response = await app.fetch(request, { ...env, ...changes }, ctx);
  await expectDocumented(request, response);
  return { response, settled: waitOnExecutionContext(ctx) };
}

/** Calls the service under other bindings or vars and waits for all that it does. */
export async function sendWith(
  changes: Partial<Env>,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const { response, settled } = await callWith(changes, path, init);
  await settled;
  return response;
}
