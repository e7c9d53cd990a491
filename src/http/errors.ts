/** The API's errors: their codes, and the problems that they report. */

/** HTTP status and category of each error code. */
export const ERROR_CODES = {
  validation_error: { status: 400, type: 'invalid_request_error' },
  invalid_cursor: { status: 400, type: 'invalid_request_error' },
  authentication_required: { status: 401, type: 'authentication_error' },
  authentication_invalid: { status: 401, type: 'authentication_error' },
  permission_denied: { status: 403, type: 'permission_error' },
  https_required: { status: 403, type: 'permission_error' },
  resource_missing: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  idempotency_key_in_use: { status: 409, type: 'idempotency_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  service_unavailable: { status: 503, type: 'api_error' },
} as const satisfies Record<string, { status: number; type: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;
type ErrorType = (typeof ERROR_CODES)[ErrorCode]['type'];

/** One problem of a request. */
export type Problem = {
  /** Dotted path, e.g. `payload.items.0.id`; `""` is the complete body. */
  path: string;
  message: string;
  /** Path for the log, which contains no text from the caller. Without this field, the log shows `body`. */
  field?: string;
  /** Error code if this is the request's only problem. Otherwise the code is `validation_error`. */
  code?: 'invalid_cursor';
};

/** Maximum number of problems in one response. */
export const MAX_PROBLEMS = 50;

type ErrorOptions = {
  /** Name of the invalid field, parameter or header. */
  param?: string;
  details?: readonly Problem[];
  /** Path for the log, as in `Problem`. Logged as `error_param`. */
  field?: string | undefined;
  headers?: Readonly<Record<string, string>>;
  /** The error that caused this one. It is logged, but never sent to the caller. */
  cause?: unknown;
};

/** An error that `renderError` turns into a response. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: (typeof ERROR_CODES)[ErrorCode]['status'];
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly details: readonly Problem[] | undefined;
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.type = ERROR_CODES[code].type;
    this.param = options.param;
    this.details = options.details?.slice(0, MAX_PROBLEMS);
    this.field = options.field;
    this.headers = options.headers ?? {};
  }
}

const NOT_VALID: Problem = { path: '', message: 'The request is not valid.' };

/**
 * Builds a 400 `validation_error`. The message describes the first problem. `details` contains the
 * first problem at each path.
 */
export function validationError(
  problems: readonly Problem[],
  options: { cause?: unknown } = {},
): ApiError {
  const [{ path, message, field } = NOT_VALID] = problems;
  const byPath = new Map<string, Problem>();
  for (const problem of problems) if (!byPath.has(problem.path)) byPath.set(problem.path, problem);
  return new ApiError('validation_error', path === '' ? message : `${path}: ${message}`, {
    ...options,
    ...(path !== '' && { param: path }),
    details: [...byPath.values()],
    field: field ?? 'body',
  });
}

/** Builds a 404 `resource_missing`. */
export function resourceMissing(message: string, headers?: Record<string, string>): ApiError {
  return new ApiError('resource_missing', message, headers && { headers });
}

/** Builds a 500 `internal_error`. For a transient failure, `retryAfterSeconds` is a whole number of seconds. */
export function internalError(cause?: unknown, retryAfterSeconds?: number): ApiError {
  return new ApiError('internal_error', 'An unexpected error occurred. Retry with backoff.', {
    cause,
    ...(retryAfterSeconds && { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  });
}

/** Joins the names in a path, without its indices, for `Problem.field`. */
export function formatField(segments: readonly PropertyKey[]): string | undefined {
  return segments.filter((segment) => typeof segment === 'string').join('.') || undefined;
}

/** Maximum length of a path in a response. A name that a caller sends may be as long as the body. */
export const MAX_PATH_CHARACTERS = 501;

/** Joins the names and indices in a path. Truncates a long path. */
export function formatPath(segments: readonly (string | number)[]): string {
  const path = segments.join('.').toWellFormed();
  return path.length < MAX_PATH_CHARACTERS
    ? path
    : `${path.slice(0, MAX_PATH_CHARACTERS - 1).toWellFormed()}…`;
}
