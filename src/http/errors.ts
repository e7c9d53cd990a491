/**
 * The catalogue of errors, the class that carries one, the errors that any route may answer, and the path of a problem
 * as answers show it: `payload.items.0.id`.
 */

/** Error code → HTTP status and category. A new code is one line here. */
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
type ErrorType = (typeof CATALOGUE)[ErrorCode]['type'];

/**
 * One problem of a request. `path` is dotted (`payload.items.0.id`); `""` is the body as a whole. `field` is for the
 * log: the names of the path that a schema knows, without indices, so that it holds no text of the caller.
 */
export type Problem = { path: string; message: string; field?: string };

/** The most problems that one answer lists. */
export const MAX_PROBLEMS = 50;

/** The optional parts of an error. */
type ErrorOptions = {
  /** The offending field, as the caller wrote its name. */
  param?: string;
  details?: readonly Problem[];
  /** The field of the first problem, for the log. */
  field?: string | undefined;
  /** Headers that belong to the status: `Allow`, `Retry-After`, `WWW-Authenticate`. */
  headers?: Readonly<Record<string, string>>;
  /** The fault underneath. It is logged and never shown. */
  cause?: unknown;
};

/** An error to answer. Any code below the routes throws it, and `renderError` makes the response. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: (typeof CATALOGUE)[ErrorCode]['status'];
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly details: readonly Problem[] | undefined;
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = CATALOGUE[code].status;
    this.type = CATALOGUE[code].type;
    this.param = options.param;
    this.details = options.details?.slice(0, MAX_PROBLEMS);
    this.field = options.field;
    this.headers = options.headers ?? {};
  }
}

/**
 * 400 `validation_error`, from every problem found. `param` is the path of the first problem, unless that is a problem
 * of the body as a whole.
 */
export function validationError(
  problems: readonly [Problem, ...Problem[]],
  options: { cause?: unknown } = {},
): ApiError {
  const [{ path, message, field }] = problems;
  return new ApiError('validation_error', path === '' ? message : `${path}: ${message}`, {
    ...options,
    ...(path !== '' && { param: path }),
    details: problems.map(({ path, message }) => ({ path, message })),
    field,
  });
}

/** 404 `resource_missing`. */
export function resourceMissing(message: string): ApiError {
  return new ApiError('resource_missing', message);
}

/**
 * 500 `internal_error`. `cause` is logged and never shown. `retryAfterSeconds`, a whole number, is given for a fault
 * that passes by itself.
 */
export function internalError(cause?: unknown, retryAfterSeconds?: number): ApiError {
  return new ApiError('internal_error', 'An unexpected error occurred. Retry with backoff.', {
    cause,
    ...(retryAfterSeconds && { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  });
}

/** 503 `service_unavailable`, from detailed health. */
export function databaseDown(): ApiError {
  return new ApiError('service_unavailable', 'The database is down.');
}

/** A name of an object, or an index of an array. */
export type PathSegment = string | number;

/** Returns the names of a path without its indices, for `Problem.field`; undefined when it has none. */
export function fieldOf(segments: readonly PropertyKey[]): string | undefined {
  return segments.filter((segment) => typeof segment === 'string').join('.') || undefined;
}

/** A longer path is cut: its names come from the caller, and may be as long as the body. */
const MAX_REPEATED_CHARACTERS = 500;

/** The length of a path that was cut, with its `…`. */
export const MAX_PATH_CHARACTERS = MAX_REPEATED_CHARACTERS + 1;

/** Joins a path with dots, and cuts a long one; `""` is the body as a whole. */
export function pathOf(segments: readonly PathSegment[]): string {
  const path = segments.join('.').toWellFormed();
  return path.length > MAX_REPEATED_CHARACTERS
    ? `${path.slice(0, MAX_REPEATED_CHARACTERS).toWellFormed()}…`
    : path;
}
