/** The account that a command works on, and the calls of Cloudflare's REST API. */

import * as z from 'zod';
import { isTransientFault } from '../../src/storage/d1.ts';
import { messageOf, UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/wrangler-config.ts';
import { runWrangler } from './wrangler.ts';

const PUBLIC_API = 'https://api.cloudflare.com/client/v4';
/** Pauses before the second to the fifth attempt. */
const PAUSES_MS = [250, 500, 1_000, 2_000];
const ATTEMPT_DEADLINE_MS = 60_000;

/** A call may be repeated, so it must be safe to run twice. Throws a `UserError`. */
type Call = <T>(result: z.ZodType<T>, method: string, path: string, body?: unknown) => Promise<T>;

export type Account = {
  /** Calls a path of the account, such as `/d1/database`. */
  call: Call;
  /** The environment variables with which wrangler works on the same account. */
  environment: Record<string, string>;
};

/** Opens the configured account, or the only one. */
export async function openAccount(
  { accountId }: Pick<Deployment, 'accountId'>,
  pausesMs: readonly number[] = PAUSES_MS,
): Promise<Account> {
  const token = process.env.CLOUDFLARE_API_TOKEN || (await findLogin());
  const call = callerOf(token, pausesMs);
  const id = process.env.CLOUDFLARE_ACCOUNT_ID || accountId || (await findOnlyAccount(call));
  return {
    call: (result, method, path, body) => call(result, method, `/accounts/${id}${path}`, body),
    environment: { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: id },
  };
}

/** Returns the token of wrangler's login. */
async function findLogin(): Promise<string> {
  const { output } = await runWrangler(['auth', 'token', '--json']);
  const [, token] = /"token":\s*"([^"]+)"/.exec(output) ?? [];
  if (token !== undefined) return token;
  throw new UserError(
    'there are no credentials for Cloudflare: set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`',
  );
}

async function findOnlyAccount(call: Call): Promise<string> {
  const [first, second] = await call(z.array(z.object({ id: z.string() })), 'GET', '/accounts');
  if (first !== undefined && second === undefined) return first.id;
  const found = first === undefined ? 'show no account' : 'open several accounts';
  throw new UserError(`the credentials ${found}: set CLOUDFLARE_ACCOUNT_ID`);
}

function callerOf(token: string, pausesMs: readonly number[]): Call {
  const base = process.env.CLOUDFLARE_API_BASE_URL || PUBLIC_API;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  let hasReported = false;
  return async (result, method, path, body) => {
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await attemptCall(`${base}${path}`, request, result);
      if ('result' in outcome) return outcome.result;
      const { fault, mayPass } = outcome;
      if (!mayPass) throw new UserError(fault);
      const pauseMs = pausesMs[attempt];
      if (pauseMs === undefined) {
        throw new UserError(`Cloudflare gave no usable response to ${method} ${path}: ${fault}`);
      }
      if (!hasReported) console.error(`Cloudflare: ${fault}. The request is repeated.`);
      hasReported = true;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
}

type Attempt<T> = { result: T } | { fault: string; mayPass: boolean };

const rejection = z.object({
  errors: z.array(z.object({ code: z.number(), message: z.string() })),
});

async function attemptCall<T>(
  url: string,
  request: RequestInit,
  result: z.ZodType<T>,
): Promise<Attempt<T>> {
  // The server may have closed an idle connection meanwhile. Node notices it in this turn.
  await new Promise(setImmediate);
  let response: Response;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(ATTEMPT_DEADLINE_MS) });
  } catch (error) {
    return { fault: `its API cannot be reached (${describeCause(error)})`, mayPass: true };
  }
  const body: unknown = await response.json().catch(() => undefined);
  const accepted = z.object({ success: z.literal(true), result }).safeParse(body);
  if (accepted.success) return accepted.data;
  const { ok, status } = response;
  const errors = rejection.safeParse(body).data?.errors ?? [];
  const fault =
    errors.map(({ code, message }) => `${message} [code: ${code}]`).join('; ') ||
    `its API responded with HTTP ${status}`;
  const isForbidden = status === 401 || status === 403;
  const isTransient = errors.some(({ message }) => isTransientFault(new Error(message)));
  return {
    fault: isForbidden ? `${fault}: see "What you need" in docs/operate/runbook.md` : fault,
    mayPass: ok || status >= 500 || status === 429 || isTransient,
  };
}

/** Returns why no response came, e.g. `ECONNREFUSED`. */
export function describeCause(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const hasCode = cause instanceof Error && 'code' in cause && typeof cause.code === 'string';
  return hasCode ? String(cause.code) : messageOf(cause);
}
