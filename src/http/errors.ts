/** The catalogue of errors and the one class that carries them (specification: Errors, Codes). */

/** Code → HTTP status and category. A new error is one line here. */
export const CATALOGUE = {
  validation_error: { status: 400, type: 'invalid_request_error' },
  invalid_cursor: { status: 400, type: 'invalid_request_error' },
  authentication_required: { status: 401, type: 'authentication_error' },
  authentication_invalid: { status: 401, type: 'authentication_error' },
  permission_denied: { status: 403, type: 'permission_error' },
  resource_missing: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  idempotency_key_in_use: { status: 409, type: 'idempotency_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  service_unavailable: { status: 503, type: 'api_error' },
} as const satisfies Record<string, { status: number; type: string }>;

export type ErrorCode = keyof typeof CATALOGUE;
export type ErrorType = (typeof CATALOGUE)[ErrorCode]['type'];

/** One problem of a request: `path` is dotted (`payload.items.0.id`), `""` for the body as a whole. */
export type Problem = { path: string; message: string };

/** At most this many problems are listed in one answer. */
export const MAX_PROBLEMS = 50;

/** What an error may carry besides its code and message. */
export type ErrorOptions = {
  /** The offending field, as the caller wrote its name. */
  param?: string;
  details?: readonly Problem[];
  /** Headers that belong to the status: `Allow`, `Retry-After`, `WWW-Authenticate`. */
  headers?: Readonly<Record<string, string>>;
  /** What went wrong underneath: logged, never shown. */
  cause?: unknown;
};

/** An answer other than success. Thrown anywhere below the routes, rendered in one place. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: (typeof CATALOGUE)[ErrorCode]['status'];
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly details: readonly Problem[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = CATALOGUE[code].status;
    this.type = CATALOGUE[code].type;
    this.param = options.param;
    this.details = options.details?.slice(0, MAX_PROBLEMS);
    this.headers = options.headers ?? {};
  }
}

/**
 * A 400 `validation_error` from every problem found.
 * `param` is the first problem's path; a problem of the body as a whole has none.
 */
export function validationError(problems: readonly [Problem, ...Problem[]]): ApiError {
  const [first] = problems;
  const message = first.path === '' ? first.message : `${first.path}: ${first.message}`;
  return new ApiError('validation_error', message, {
    ...(first.path === '' ? {} : { param: first.path }),
    details: problems,
  });
}

/** A 404 `resource_missing`. */
export function resourceMissing(message: string): ApiError {
  return new ApiError('resource_missing', message);
}
