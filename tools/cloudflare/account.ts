/** The account that a command works on, and the calls of Cloudflare's REST API. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { isTransientError } from '../../src/storage/d1.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { readTextFile } from '../command-line/text-file.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { runWrangler } from './wrangler.ts';

const PUBLIC_API = 'https://api.cloudflare.com/client/v4';
/** Pauses before the second to the fifth attempt. */
const PAUSES_MS = [250, 500, 1_000, 2_000];
/**
 * The API accepts 1,200 calls of a user in five minutes, and then responds with 429 for five
 * minutes (developers.cloudflare.com/fundamentals/api-rate-limits, as of November 2026).
 */
const CALLS_PER_MINUTE = 190;
const BLOCK_MS = 300_000;
/** A longer pause is printed. */
const SILENT_PAUSE_MS = 10_000;
const ATTEMPT_DEADLINE_MS = 60_000;

/** The time, which tests replace. */
export type Clock = { now: () => number; sleep: (ms: number) => Promise<unknown> };

const CLOCK: Clock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Calls the API. A call may be sent twice, so it must be safe to repeat. Throws a `UserError`. */
type Call = <T>(result: z.ZodType<T>, method: string, path: string, body?: unknown) => Promise<T>;

export type Account = {
  id: string;
  /** Calls a path of the account, such as `/d1/database`. */
  call: Call;
};

/** A call that Cloudflare rejected, and would reject again. */
export class RejectedCall extends UserError {
  readonly status: number;

  constructor(fault: string, status: number) {
    super(fault);
    this.status = status;
  }
}

/** Opens the configured account, or the only one. */
export async function openAccount(
  accountId: string | undefined,
  pausesMs = PAUSES_MS,
  clock = CLOCK,
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

/** Loads the files that wrangler loads too. A variable that is set already keeps its value. */
export function loadEnvFiles(directory = PROJECT_DIRECTORY): void {
  for (const name of ['.env.local', '.env']) {
    const file = join(directory, name);
    if (!existsSync(file)) continue;
    // Throws if Node would read another text than the user sees.
    readTextFile(file);
    process.loadEnvFile(file);
  }
}

async function findLoginToken(): Promise<string> {
  const { output } = await runWrangler(['auth', 'token', '--json']);
  const [, token] = /"token":\s*"([^"]+)"/.exec(output) ?? [];
  if (token !== undefined) return token;
  throw new UserError(
    'there are no credentials for Cloudflare: set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`',
  );
}

async function findOnlyAccount(call: Call): Promise<string> {
  const all = await call(z.array(z.object({ id: z.string() })), 'GET', '/accounts');
  const [only] = all;
  if (only !== undefined && all.length === 1) return only.id;
  throw new UserError(`the credentials open ${all.length} accounts: set CLOUDFLARE_ACCOUNT_ID`);
}

/** Returns a client that throttles its calls, retries them after an error, and waits while the user is blocked. */
function createApiClient(token: string, pausesMs: readonly number[], clock: Clock): Call {
  const throttle = createThrottle(clock);
  const base = process.env.CLOUDFLARE_API_BASE_URL || PUBLIC_API;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return async (result, method, path, body) => {
    await throttle();
    const request = { method, headers, body: JSON.stringify(body) };
    for (let attempt = 0; ; attempt += 1) {
      const sent = await send(`${base}${path}`, request);
      const { received, fault, mayPass, retryAfterMs, status } = sent;
      const accepted = z.object({ success: z.literal(true), result }).safeParse(received);
      if (accepted.success) return accepted.data.result;
      if (!mayPass) throw new RejectedCall(`${fault} (${method} ${shorten(path)})`, status);
      const usualMs = pausesMs[attempt];
      if (usualMs === undefined) {
        throw new UserError(`Cloudflare gave no usable response to ${method} ${path}: ${fault}`);
      }
      const pauseMs = Math.max(usualMs, retryAfterMs);
      if (pauseMs > SILENT_PAUSE_MS) {
        const end = new Date(clock.now() + pauseMs).toLocaleTimeString('en-GB');
        console.error(`Cloudflare: ${fault}. The command waits until ${end} and then continues.`);
      }
      await clock.sleep(pauseMs);
      await throttle();
    }
  };
}

/** Returns a function that waits until one more call keeps below the limit. */
function createThrottle({ now, sleep }: Clock): () => Promise<void> {
  const calls: number[] = [];
  return async () => {
    const oldest = calls.length < CALLS_PER_MINUTE ? undefined : calls.shift();
    const waitMs = oldest === undefined ? 0 : oldest + 60_000 - now();
    if (waitMs > 0) await sleep(Math.min(waitMs, 60_000));
    calls.push(now());
  };
}
/** e.g. `/accounts/f00d/d1/database?name=feed` → `/d1/database` */
const shorten = (path: string) => path.replace(/^\/accounts\/[^/]+(?=\/)|\?.*$/g, '');

const rejection = z.object({
  errors: z.array(z.object({ code: z.number(), message: z.string() })),
});

/** Sends a request once. If the body is unusable, `fault` contains the reason. */
async function send(url: string, request: RequestInit) {
  // The server may have closed an idle connection in the meantime. Node notices it in this turn.
  await new Promise(setImmediate);
  let response: Response;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(ATTEMPT_DEADLINE_MS) });
  } catch (error) {
    const fault = `its API cannot be reached (${describeCause(error)})`;
    return { fault, mayPass: true, retryAfterMs: 0, status: 0 };
  }
  const { ok, status, headers } = response;
  const received: unknown = await response.json().catch(() => undefined);
  const { errors } = rejection.catch({ errors: [] }).parse(received);
  const reasons = errors.map(({ code, message }) => `${message} [code: ${code}]`).join('; ');
  const isTransient = errors.some(({ message }) => isTransientError(message));
  return {
    received,
    status,
    fault: reasons || `its API responded with HTTP ${status}`,
    mayPass: ok || status >= 500 || status === 429 || isTransient,
    // Cloudflare sends seconds, never a date.
    retryAfterMs:
      1_000 * (Number(headers.get('Retry-After')) || 0) || (status === 429 ? BLOCK_MS : 0),
  };
}

/** Returns why no response came, e.g. `ECONNREFUSED`. */
export function describeCause(error: unknown): string {
  // A proxy's rejection is the cause of a cause.
  if (error instanceof Error && error.cause !== undefined) return describeCause(error.cause);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E[A-Z_]+$/.test(code) ? code : describeError(error);
}
