/** Sends requests for the other examples. Copy this file into the same folder. */

import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const { API_URL = 'http://localhost:3001', API_KEY = '' } = process.env;
const SECOND_MS = 1_000;
/** Time limit for one attempt. It is longer than a request with `wait=25` can take. */
const TIMEOUT_MS = 40_000;

/**
 * Sends a request. Retries as long as a retry can help, and waits as long as the response requests.
 * Prints the reason for each retry. Throws `NotFromService` if the response comes from another
 * system, such as a login page or a firewall.
 */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  if (!API_KEY) {
    console.error('Set API_KEY to a key of the service.');
    process.exit(1);
  }
  const headers = {
    'x-api-key': API_KEY,
    'Content-Type': 'application/json',
    'User-Agent': 'examples/1.1',
    ...init.headers,
  };
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 30)) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const sent = { ...init, headers, signal, redirect: 'manual' } as const;
    // Without a response, it is unknown if an event was stored. The next attempt makes it certain.
    const outcome = await attempt(API_URL + path, sent).catch(describeCause);
    const response = typeof outcome === 'string' ? undefined : outcome;
    const retryAfter = parseRetryAfter(response?.headers.get('Retry-After') ?? '');
    const shouldRetry = response?.headers.get('X-Should-Retry');
    if (response && (shouldRetry === 'false' || response.ok || response.status === 304)) {
      const text = await response.clone().text();
      if (response.ok && !isResource(text)) throw new NotFromService(response, text);
      await pause(SECOND_MS * (retryAfter ?? 0));
      return response;
    }
    if (response && shouldRetry !== 'true' && response.status < 500) {
      const isTransient = [408, 429].includes(response.status);
      if (!isTransient) throw new NotFromService(response, await response.text());
    }
    const wait = retryAfter ?? seconds;
    console.error(`${API_URL}${path}: ${response?.status ?? outcome}, next attempt in ${wait} s`);
    await pause(SECOND_MS * wait);
  }
}

/**
 * Returns the complete response. Throws if the response is incomplete, because a connection that
 * ends early can leave half a JSON document.
 */
async function attempt(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.includes('json');
  if (isJson && response.status !== 304) JSON.parse(text);
  return new Response(text || null, response);
}

/** Returns the JSON body of a response. Throws if the response is an error. */
export async function callForJson<Body>(path: string, init?: RequestInit): Promise<Body> {
  const response = await call(path, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}

/**
 * Whether a body comes from the service. A login page can also have the status 200, but its body
 * has no `object`.
 */
function isResource(text: string): boolean {
  try {
    return typeof JSON.parse(text)?.object === 'string';
  } catch {
    return false;
  }
}

/** The error for a response from another system, such as a login page or a firewall. */
export class NotFromService extends Error {
  readonly status: number;

  constructor({ status, headers }: Response, body: string) {
    const named = ['cf-ray', 'cf-mitigated'].filter((name) => headers.has(name));
    const about = named.map((name) => ` (${name}: ${headers.get(name)})`).join('');
    const [firstLine = ''] = body.trim().split('\n');
    super(`not a response of the service: ${status}${about} ${firstLine.slice(0, 200)}`);
    this.status = status;
  }
}

const NAMESPACE = Buffer.from('3c0f4e0e7b524d0c9a561f2be2d7c9a4', 'hex');

/** Returns the id of the event with an idempotency key. The id is a version 5 UUID of the key. */
export function makeEventId(key: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(key).digest().subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x50;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/**
 * Returns the seconds in a `Retry-After` header; undefined if there is no valid value. A proxy can
 * send a date instead of a number.
 */
function parseRetryAfter(header: string): number | undefined {
  const isNumber = /^\d+$/.test(header);
  const seconds = isNumber ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 1), 3_600);
}

/** Returns the reason for a missing response, such as ECONNREFUSED. */
function describeCause(error: Error & { cause?: { code?: string; message?: string } }): string {
  return error.cause?.code ?? error.cause?.message ?? error.message;
}
