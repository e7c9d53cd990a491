/** Calls Cloudflare's REST API. A call may be repeated, so it must be safe to run twice. */

import * as z from 'zod';
import { isTransientFault } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/user-error.ts';

const PUBLIC_API = 'https://api.cloudflare.com/client/v4';
/** Pauses before the second to the fifth attempt, each up to a quarter longer. */
const PAUSES_MS = [250, 500, 1_000, 2_000];
const MAX_PAUSE_MS = 10_000;
const ATTEMPT_DEADLINE_MS = 60_000;
/** The most that every list takes. */
const ITEMS_PER_PAGE = 50;
/** The codes for a malformed token, for an unknown one, and for one without the right. */
const NOT_ACCEPTED = [6_003, 6_111, 9_106, 9_109, 10_000];

const envelope = z.looseObject({
  success: z.boolean(),
  errors: z.array(z.looseObject({ code: z.number(), message: z.string() })).nullish(),
  result: z.unknown(),
});

/** Cloudflare rejected a request, with this message. */
class Rejected extends UserError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

type CallOptions = {
  query?: Record<string, string>;
  body?: unknown;
  /** The most attempts: 1 for a call that must not run twice. */
  attempts?: number;
};

/** The result of a response, or a fault after which the request is sent again. */
type Attempt = { result: unknown } | { fault: string; waitMs: number };

export class CloudflareApi {
  readonly #token: string;
  readonly #base = process.env.CLOUDFLARE_API_BASE_URL || PUBLIC_API;
  readonly #pausesMs: readonly number[];
  #hasReported = false;

  constructor(token: string, pausesMs: readonly number[] = PAUSES_MS) {
    this.#token = token;
    this.#pausesMs = pausesMs;
  }

  /** Returns the result of a call. Throws `Rejected`, or a `UserError` without a response. */
  async call<T>(
    schema: z.ZodType<T>,
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<T> {
    const attempts = options.attempts ?? this.#pausesMs.length + 1;
    for (let number = 1; ; number += 1) {
      const attempt = await this.#attempt(method, path, options);
      if ('result' in attempt) {
        const parsed = schema.safeParse(attempt.result);
        if (parsed.success) return parsed.data;
        throw new UserError(`Cloudflare's response to ${path} has an unknown form`);
      }
      const { fault, waitMs } = attempt;
      if (number >= attempts) {
        const tried = number === 1 ? '' : `, ${number} times`;
        throw new UserError(
          `Cloudflare gave no usable response to ${method} ${path}${tried}: ${fault}`,
        );
      }
      if (!this.#hasReported) console.error(`Cloudflare: ${fault}. The request is repeated.`);
      this.#hasReported = true;
      const pauseMs = (this.#pausesMs[number - 1] ?? 0) * (1 + Math.random() / 4);
      await new Promise((resolve) => setTimeout(resolve, Math.max(pauseMs, waitMs)));
    }
  }

  /** Returns the result of a read; undefined if there is no such resource. */
  async find<T>(schema: z.ZodType<T>, path: string): Promise<T | undefined> {
    try {
      return await this.call(schema, 'GET', path);
    } catch (error) {
      if (error instanceof Rejected && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Returns the items of all pages of a list. */
  async list<T>(item: z.ZodType<T>, path: string, filter: object = {}): Promise<T[]> {
    const items: T[] = [];
    for (let page = 1; ; page += 1) {
      const query = { ...filter, page: String(page), per_page: String(ITEMS_PER_PAGE) };
      const found = await this.call(z.array(item), 'GET', path, { query });
      items.push(...found);
      if (found.length < ITEMS_PER_PAGE) return items;
    }
  }

  /** Throws `Rejected`. */
  async #attempt(method: string, path: string, { query, body }: CallOptions): Promise<Attempt> {
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    // The server may have closed an idle connection meanwhile. Node notices it in this turn.
    await new Promise(setImmediate);
    let response: Response;
    try {
      response = await fetch(`${this.#base}${path}${search}`, {
        method,
        headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ATTEMPT_DEADLINE_MS),
      });
    } catch (error) {
      return { fault: `its API cannot be reached (${describeCause(error)})`, waitMs: 0 };
    }
    return judge(path, response, await response.json().catch(() => undefined));
  }
}

/** The codes of D1's own faults. They may come with any status. */
const isOfD1 = (code: number) => code >= 7_400 && code < 7_600;

function judge(path: string, { ok, status, headers }: Response, body: unknown): Attempt {
  const { data } = envelope.safeParse(body);
  if (ok && data?.success) return { result: data.result };
  const errors = data?.errors ?? [];
  const isTransient = ({ message }: { message: string }) => isTransientFault(new Error(message));
  const isPassing =
    status >= 500 || status === 429 || (ok && data === undefined) || errors.some(isTransient);
  if (isPassing && !errors.some((error) => isOfD1(error.code) && !isTransient(error))) {
    const seconds = Number(headers.get('Retry-After')) || 0;
    const waitMs = Math.min(seconds * 1_000, MAX_PAUSE_MS);
    return { fault: `its API responded with HTTP ${status}`, waitMs };
  }
  const list = errors.map((error) => `${error.message} [code: ${error.code}]`).join('; ');
  const message = list || `HTTP ${status}`;
  const isForbidden = errors.some(({ code }) => NOT_ACCEPTED.includes(code));
  if (status !== 401 && status !== 403 && !isForbidden) throw new Rejected(message, status);
  const needed = path.includes('/d1/')
    ? 'the permission "Account · D1 · Edit"'
    : 'a permission of "What you need" in docs/operate/runbook.md';
  throw new Rejected(`the credentials are not accepted, or lack ${needed}: ${message}`, status);
}

/** Returns why no response came, e.g. `ECONNREFUSED` or `TimeoutError`. */
export function describeCause(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
