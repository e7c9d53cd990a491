/**
 * Cloudflare's REST API, as a command-line program calls it.
 *
 * A call that meets a passing fault (no connection, a 5xx, a 429, a passing fault of D1) is repeated a few times with
 * growing pauses, so every call must be safe to run twice.
 */

import * as z from 'zod';
import { isPassingFault } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/project.ts';

const PUBLIC_API = 'https://api.cloudflare.com/client/v4';
/** Pauses before the second to the fifth attempt, each up to a quarter longer. */
const PAUSES_MS = [250, 500, 1_000, 2_000];
const MAX_PAUSE_MS = 10_000;
const ATTEMPT_DEADLINE_MS = 60_000;
const ITEMS_PER_PAGE = 100;

/** The codes for a malformed token, for an unknown one, and for one without the right. */
const NOT_ACCEPTED = [6_003, 6_111, 9_106, 9_109, 10_000];

const envelope = z.looseObject({
  success: z.boolean(),
  errors: z.array(z.looseObject({ code: z.number(), message: z.string() })).nullish(),
  result: z.unknown(),
  result_info: z.looseObject({ total_pages: z.number().optional() }).nullish(),
});
type Envelope = z.infer<typeof envelope>;

/** Cloudflare refused a request. The message is Cloudflare's own. */
export class Refused extends UserError {
  readonly status: number;
  readonly codes: readonly number[];

  constructor(message: string, status: number, codes: readonly number[]) {
    super(message);
    this.status = status;
    this.codes = codes;
  }

  /** Reports whether the credentials lack the right to this request. */
  get isForbidden(): boolean {
    return (
      [401, 403].includes(this.status) || this.codes.some((code) => NOT_ACCEPTED.includes(code))
    );
  }
}

/** No usable answer came. It is not known whether the request was carried out. */
export class NoAnswer extends UserError {}

export type CallOptions = {
  query?: Record<string, string>;
  body?: unknown;
  /** The most attempts: 1 for a call that must not run twice. */
  attempts?: number;
};

export class CloudflareApi {
  readonly #token: string;
  readonly #base: string;
  readonly #tell: (line: string) => void;
  readonly #pausesMs: readonly number[];
  #hasTold = false;

  /** `tell` prints a line when a request is repeated for the first time. */
  constructor(
    token: string,
    tell: (line: string) => void = (line) => console.error(line),
    pausesMs: readonly number[] = PAUSES_MS,
  ) {
    this.#token = token;
    this.#pausesMs = pausesMs;
    this.#base = process.env.CLOUDFLARE_API_BASE_URL || PUBLIC_API;
    this.#tell = tell;
  }

  /** Returns the result of a call. Throws `Refused` or `NoAnswer`. */
  async call<T>(
    schema: z.ZodType<T>,
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<T> {
    return this.#parse(schema, path, (await this.#send(method, path, options)).result);
  }

  /** Returns the items of all pages of a list. */
  async list<T>(
    item: z.ZodType<T>,
    path: string,
    query: Record<string, string> = {},
  ): Promise<T[]> {
    const items: T[] = [];
    for (let page = 1; ; page += 1) {
      const paging = { page: String(page), per_page: String(ITEMS_PER_PAGE) };
      const answer = await this.#send('GET', path, { query: { ...query, ...paging } });
      const found = this.#parse(z.array(item), path, answer.result);
      items.push(...found);
      const pages = answer.result_info?.total_pages;
      if (found.length === 0 || (pages !== undefined && page >= pages)) return items;
      if (pages === undefined && found.length < ITEMS_PER_PAGE) return items;
    }
  }

  #parse<T>(schema: z.ZodType<T>, path: string, result: unknown): T {
    const parsed = schema.safeParse(result);
    if (parsed.success) return parsed.data;
    throw new UserError(`Cloudflare's answer to ${path} has an unknown form`);
  }

  async #send(method: string, path: string, options: CallOptions): Promise<Envelope> {
    const attempts = options.attempts ?? this.#pausesMs.length + 1;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(method, path, options);
      if (outcome.kind === 'answer') return outcome.answer;
      if (outcome.kind === 'refused') throw outcome.error;
      if (attempt >= attempts) {
        const tried = attempt === 1 ? '' : `, ${attempt} times`;
        throw new NoAnswer(
          `Cloudflare gave no usable answer to ${method} ${path}${tried}: ${outcome.why}`,
        );
      }
      if (!this.#hasTold) this.#tell(`Cloudflare: ${outcome.why}. The request is repeated.`);
      this.#hasTold = true;
      const pause = (this.#pausesMs[attempt - 1] ?? 0) * (1 + Math.random() / 4);
      await new Promise((resolve) => setTimeout(resolve, Math.max(pause, outcome.waitMs)));
    }
  }

  async #attempt(method: string, path: string, { query, body }: CallOptions): Promise<Attempt> {
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#base}${path}${search}`, {
        method,
        headers: {
          Authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ATTEMPT_DEADLINE_MS),
      });
      text = await response.text();
    } catch (error) {
      return { kind: 'passing', why: connectionFault(error), waitMs: 0 };
    }
    return judge(response, text);
  }
}

type Attempt =
  | { kind: 'answer'; answer: Envelope }
  | { kind: 'refused'; error: Refused }
  | { kind: 'passing'; why: string; waitMs: number };

/** The codes of D1's own faults. They may come with any status. */
const isOfD1 = (code: number) => code >= 7_400 && code < 7_600;

/** Tells an answer, a passing fault and a refusal apart. */
function judge(response: Response, text: string): Attempt {
  const parsed = envelope.safeParse(jsonOf(text));
  const { status } = response;
  const errors = (parsed.success ? parsed.data.errors : undefined) ?? [];
  const message = errors.map(({ message, code }) => `${message} [code: ${code}]`).join('; ');
  if (response.ok && parsed.success && parsed.data.success) {
    return { kind: 'answer', answer: parsed.data };
  }
  const isD1Refusal = errors.some(
    ({ code, message }) => isOfD1(code) && !isPassingFault(new Error(message)),
  );
  const isPassing =
    status >= 500 ||
    status === 429 ||
    errors.some((error) => isPassingFault(new Error(error.message)));
  if (!isD1Refusal && (isPassing || (response.ok && !parsed.success))) {
    const seconds = Number(response.headers.get('Retry-After'));
    const waitMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, MAX_PAUSE_MS) : 0;
    return { kind: 'passing', why: `its API answered with HTTP ${status}`, waitMs };
  }
  const codes = errors.map(({ code }) => code);
  return { kind: 'refused', error: new Refused(message || `HTTP ${status}`, status, codes) };
}

/** Describes why no connection was made, with a code such as `ECONNREFUSED`. */
function connectionFault(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return `its API cannot be reached (${code ?? (cause instanceof Error ? cause.name : String(cause))})`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
