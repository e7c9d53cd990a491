/** The schema of the error envelope, which http/render-error.ts writes. */

import * as z from 'zod';
import { ERROR_CODES, type ErrorCode, MAX_PATH_CHARACTERS, MAX_PROBLEMS } from '../http/errors.ts';
import { withMetadata } from '../schema/metadata.ts';

/** Pattern of a header value (RFC 9110 section 5.5), which every dialect of regular expressions can read. */
const FIELD_VALUE = '^[^\\x00-\\x08\\x0a-\\x1f\\x7f]*$';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

export function patternText(pattern: RegExp, maxCharacters: number): z.ZodString {
  return z.string().max(maxCharacters).regex(pattern);
}

export const requestIdText = patternText(new RegExp(FIELD_VALUE), 200).min(1);

/** Text that may repeat what the caller sent: a message or a path. */
const echo = z.string().max(300_000);

const message = echo.min(1).meta({
  description: 'The problem, for people to read. Do not parse it: branch on `error.code`.',
  examples: ['limit must be at most 100'],
});

export const problem = z
  .strictObject({
    path: withMetadata(
      z.string().max(MAX_PATH_CHARACTERS),
      'Path of the problem, separated by dots: `payload.items.0.id`. Empty for the complete body.',
      'payload.check_in',
    ),
    message: message.meta({
      description: 'The problem at this path.',
      examples: ['must be at most 100'],
    }),
  })
  .meta({ id: 'Problem', description: 'One problem of the request.' });

const error = z
  .strictObject({
    type: z
      .enum(CODES.map((code) => ERROR_CODES[code].type))
      .meta({ id: 'ErrorType', description: 'Category of the error.' }),
    code: z
      .enum(CODES)
      .meta({ id: 'ErrorCode', description: 'The error, for programs to branch on.' }),
    message,
    param: withMetadata(
      z.string().min(1).max(MAX_PATH_CHARACTERS).optional(),
      'The field, parameter or header with the first problem.',
      'limit',
    ),
    request_id: requestIdText.meta({
      description: 'The `X-Request-ID` of this response. Name it when you report a problem.',
    }),
    details: withMetadata(
      z.array(problem).min(1).max(MAX_PROBLEMS).optional(),
      `Every problem of the request, up to ${MAX_PROBLEMS}.`,
    ),
  })
  .meta({ id: 'ErrorInfo', description: 'The error. New clients read only this object.' });

/** Fields of the error envelope. A response may have additional fields. */
export const errorFields = {
  error,
  statusCode: forOlderClients(z.int32().min(400).max(599), 'the HTTP status'),
  timestamp: forOlderClients(z.iso.datetime({ precision: 3 }).max(24), 'the time of this response'),
  path: forOlderClients(echo.regex(/^\//), 'the path of the request, without its query').meta({
    examples: ['/api/v1/web/properties'],
  }),
  method: forOlderClients(patternText(/^[A-Z-]+$/, 40), 'the method of the request'),
  message: forOlderClients(message, 'the same as `error.message`'),
} as const;

function forOlderClients<Schema extends z.ZodType>(schema: Schema, meaning: string): Schema {
  return schema.meta({ description: `For older clients: ${meaning}.`, deprecated: true });
}

export const errorResource = z
  .strictObject(errorFields)
  .meta({ id: 'ErrorEnvelope', description: 'An error. New clients read only `error`.' });

/** Meaning of each error code, as the OpenAPI document states it. */
export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  validation_error: 'A parameter, a header or the body is not valid: `details` lists the problems.',
  invalid_cursor:
    'The cursor does not belong to this list with these filters. Start again without a cursor.',
  authentication_required: 'The request has no credentials.',
  authentication_invalid: 'The credentials are not valid here.',
  permission_denied: 'The key does not have the scope, or the token does not have the permission.',
  https_required:
    'The request came by plain http. Replace the key that it contained, and use https.',
  resource_missing: 'There is no such resource, or no such path.',
  method_not_allowed: 'The path does not have this method. `Allow` lists its methods.',
  idempotency_key_in_use: 'The key was used for another body.',
  payload_too_large: 'The body is too large.',
  unsupported_media_type: 'The body was not sent as `application/json`, or it was compressed.',
  rate_limit_exceeded: 'Too many requests: wait for `Retry-After` seconds.',
  internal_error: 'The service failed. Retry with backoff, or after `Retry-After` seconds.',
  service_unavailable: 'The database is down.',
};
