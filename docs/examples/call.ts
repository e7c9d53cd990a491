/** The requests of the other examples: copy this file beside them. */

import { setTimeout as pause } from 'node:timers/promises';

const { API_URL = 'http://localhost:3001', API_KEY = '' } = process.env;

/**
 * Sends a request, and retries it until the response says that a retry cannot help. Waits as long
 * as it asks for.
 */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'x-api-key': API_KEY, 'Content-Type': 'application/json', ...init.headers };
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 30)) {
    // No response: an event may be stored or not. The next attempt settles it.
    const response = await fetch(API_URL + path, { ...init, headers }).catch(() => undefined);
    const isRefused = response?.headers.get('X-Should-Retry') === 'false';
    const isFinal = isRefused || response?.ok || response?.status === 304;
    await pause(1_000 * Number(response?.headers.get('Retry-After') ?? (isFinal ? 0 : seconds)));
    if (response && isFinal) return response;
  }
}

/** Returns the body of a response. Throws the error of the service. */
export async function callForJson<Body>(path: string, init?: RequestInit): Promise<Body> {
  const response = await call(path, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}
