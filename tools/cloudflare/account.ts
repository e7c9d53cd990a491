/** Opens the Cloudflare account of a command, and calls Cloudflare's REST API. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { isTransientError } from '../../src/storage/d1.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { readTextFile } from '../command-line/text-file.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { runWrangler } from './wrangler.ts';

const PUBLIC_API = 'https://api.cloudflare.com/client/v4';
/** Pauses before the second and later attempts. */
const PAUSES_MS = [250, 500, 1_000, 2_000];
/**
 * Cloudflare accepts 1,200 API calls per user in five minutes. If a user exceeds this limit, it
 * rejects all of the user's calls with 429 for the next five minutes
 * (developers.cloudflare.com/fundamentals/api-rate-limits, as of November 2026).
 */
const CALLS_PER_MINUTE = 190;
const BLOCK_MS = 300_000;
/** Pauses longer than this are announced to the user. */
const SILENT_PAUSE_MS = 10_000;
const ATTEMPT_DEADLINE_MS = 60_000;

/** The clock of an API client. Tests replace it with a fake one. */
export type Clock = { now: () => number; sleep: (ms: number) => Promise<unknown> };

const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * Sends a request, and retries failed attempts. The request must therefore be safe to repeat.
 * Throws a `UserError` if it fails permanently.
 */
type Call = <T>(result: z.ZodType<T>, method: string, path: string, body?: unknown) => Promise<T>;

export type Account = {
  id: string;
  /** Calls a path under the account, such as `/d1/database`. */
  call: Call;
};

/** Thrown if Cloudflare rejects a call and a retry would not help. */
export class RejectedCallError extends UserError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/**
 * Opens the configured account. If none is configured, the credentials must have access to exactly
 * one account.
 */
export async function openAccount(
  accountId: string | undefined,
  pausesMs = PAUSES_MS,
  clock = SYSTEM_CLOCK,
): Promise<Account> {
  loadEnvFiles();
  const token = process.env.CLOUDFLARE_API_TOKEN || (await findLoginToken());
  const call = createApiClient(token, pausesMs, clock);
  const id = process.env.CLOUDFLARE_ACCOUNT_ID || accountId || (await findOnlyAccount(call));
  return {
    id,
    call: (result, method, path, body) => call(result, method, `/accounts/${id}${path}`, body),
  };
}

/** Loads the `.env` files that wrangler loads. Variables that are already set keep their values. */
export function loadEnvFiles(directory = PROJECT_DIRECTORY): void {
  for (const name of ['.env.local', '.env']) {
    const file = join(directory, name);
    if (!existsSync(file)) continue;
    // Rejects a file that is not in UTF-8, because Node would misread it.
    readTextFile(file);
    process.loadEnvFile(file);
  }
}

async function findLoginToken(): Promise<string> {
  const { output } = await runWrangler(['auth', 'token', '--json']);
  const [, token] = /"token":\s*"([^"]+)"/.exec(output) ?? [];
  if (token !== undefined) return token;
  throw new UserError(
    'Cloudflare needs credentials. Set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`',
  );
}

async function findOnlyAccount(call: Call): Promise<string> {
  const accounts = await call(z.array(z.object({ id: z.string() })), 'GET', '/accounts');
  const [first] = accounts;
  if (first !== undefined && accounts.length === 1) return first.id;
  throw new UserError(
    `your credentials have access to ${accounts.length} accounts. Choose one with CLOUDFLARE_ACCOUNT_ID`,
  );
}

/**
 * Creates a client that throttles its calls, retries failed ones, and waits while Cloudflare blocks
 * the user.
 */
function createApiClient(token: string, pausesMs: readonly number[], clock: Clock): Call {
  const throttle = createThrottle(clock);
  const base = process.env.CLOUDFLARE_API_BASE_URL || PUBLIC_API;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return async (result, method, path, body) => {
    await throttle();
    const request = { method, headers, body: JSON.stringify(body) };
    for (let attempt = 0; ; attempt += 1) {
      const response = await send(`${base}${path}`, request);
      const { payload, failure, isRetryable, retryAfterMs, status } = response;
      const accepted = z.object({ success: z.literal(true), result }).safeParse(payload);
      if (accepted.success) return accepted.data.result;
      if (!isRetryable)
        throw new RejectedCallError(`${failure} (${method} ${shorten(path)})`, status);
      const minPauseMs = pausesMs[attempt];
      if (minPauseMs === undefined) {
        throw new UserError(`Cloudflare gave no usable response to ${method} ${path}: ${failure}`);
      }
      const pauseMs = Math.max(minPauseMs, retryAfterMs);
      if (pauseMs > SILENT_PAUSE_MS) {
        const end = new Date(clock.now() + pauseMs).toLocaleTimeString('en-GB');
        console.error(`Cloudflare: ${failure}. Waiting until ${end}, then continuing.`);
      }
      await clock.sleep(pauseMs);
      await throttle();
    }
  };
}

/** Returns a function that waits until another call would not exceed `CALLS_PER_MINUTE`. */
function createThrottle({ now, sleep }: Clock): () => Promise<void> {
  const callTimes: number[] = [];
  return async () => {
    const oldest = callTimes.length < CALLS_PER_MINUTE ? undefined : callTimes.shift();
    const waitMs = oldest === undefined ? 0 : oldest + 60_000 - now();
    if (waitMs > 0) await sleep(Math.min(waitMs, 60_000));
    callTimes.push(now());
  };
}

/**
 * Removes the account and the query from a path: `/accounts/f00d/d1/database?name=feed` →
 * `/d1/database`.
 */
const shorten = (path: string) => path.replace(/^\/accounts\/[^/]+(?=\/)|\?.*$/g, '');

const rejection = z.object({
  errors: z.array(z.object({ code: z.number(), message: z.string() })),
});

/** Sends a request without retries. `failure` explains why the payload cannot be used. */
async function send(url: string, request: RequestInit) {
  // Gives Node time to notice that the server has closed an idle connection. `fetch` then opens a new one.
  await new Promise(setImmediate);
  let response: Response;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(ATTEMPT_DEADLINE_MS) });
  } catch (error) {
    const failure = `its API cannot be reached (${describeCause(error)})`;
    return { failure, isRetryable: true, retryAfterMs: 0, status: 0 };
  }
  const { ok, status, headers } = response;
  const payload: unknown = await response.json().catch(() => undefined);
  const { errors } = rejection.catch({ errors: [] }).parse(payload);
  const reasons = errors.map(({ code, message }) => `${message} [code: ${code}]`).join('; ');
  const isTransient = errors.some(({ message }) => isTransientError(message));
  return {
    payload,
    status,
    failure: reasons || `its API responded with HTTP ${status}`,
    isRetryable: ok || status >= 500 || status === 429 || isTransient,
    // Cloudflare sends seconds, never a date.
    retryAfterMs:
      1_000 * (Number(headers.get('Retry-After')) || 0) || (status === 429 ? BLOCK_MS : 0),
  };
}

/** Explains why a request got no response, e.g. `ECONNREFUSED`. */
export function describeCause(error: unknown): string {
  // If a proxy rejects the request, the actual reason is nested more deeply.
  if (error instanceof Error && error.cause !== undefined) return describeCause(error.cause);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E[A-Z_]+$/.test(code) ? code : describeError(error);
}
