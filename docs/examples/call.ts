/** The requests of the other examples: copy this file beside them. */

import { setTimeout as pause } from 'node:timers/promises';

const { API_URL = 'http://localhost:3001', API_KEY = '' } = process.env;
/** Longer than a request with `wait=25` takes. */
const TIMEOUT_MS = 40_000;

/**
 * Sends a request, and retries it until the response says that a retry cannot help. Waits as long
 * as the response asks for, and prints why.
 */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'x-api-key': API_KEY, 'Content-Type': 'application/json', ...init.headers };
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 30)) {
    // No response: an event may be stored or not. The next attempt settles it.
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const outcome = await fetch(API_URL + path, { ...init, headers, signal }).catch(causeOf);
    const response = outcome instanceof Response ? outcome : undefined;
    const asked = secondsToWait(response?.headers.get('Retry-After') ?? '');
    const isRefused = response?.headers.get('X-Should-Retry') === 'false';
    if (response && (isRefused || response.ok || response.status === 304)) {
      await pause(1_000 * (asked ?? 0));
      return response;
    }
    const wait = asked ?? seconds;
    console.error(`${API_URL}${path}: ${response?.status ?? outcome}, next attempt in ${wait} s`);
    await pause(1_000 * wait);
  }
}

/** Returns the body of a response. Throws the error of the service. */
export async function callForJson<Body>(path: string, init?: RequestInit): Promise<Body> {
  const response = await call(path, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}

/** Reads a `Retry-After`: a number of seconds, or a date, which a proxy may send. */
function secondsToWait(header: string): number | undefined {
  const isNumber = /^\d+$/.test(header);
  const seconds = isNumber ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 1), 3_600);
}

/** Why there is no response, e.g. ECONNREFUSED. */
function causeOf(error: Error & { cause?: { code?: string; message?: string } }): string {
  return error.cause?.code ?? error.cause?.message ?? error.message;
}
