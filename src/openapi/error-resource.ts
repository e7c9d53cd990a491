/**
 * The schema of the error envelope, for the OpenAPI document and the tests. The Worker writes the envelope in
 * render-error.ts, and parses none.
 */

import * as z from 'zod';
import { CATALOGUE, type ErrorCode, MAX_PATH_CHARACTERS, MAX_PROBLEMS } from '../http/errors.ts';

/** The bound of a message or a path, which may repeat text that the caller sent. */
const MAX_ECHOED_CHARACTERS = 300_000;

/** A field value (RFC 9110 section 5.5), in a form that every dialect of patterns reads. */
const FIELD_VALUE = '^[^\\x00-\\x08\\x0a-\\x1f\\x7f]*$';

/** A text that fits a pattern. */
export function patternText(pattern: RegExp, maxCharacters: number): z.ZodString {
  return z.string().max(maxCharacters).regex(pattern);
}

/** A request id. */
export const requestIdText = patternText(new RegExp(FIELD_VALUE), 200).min(1);

const CODES = Object.keys(CATALOGUE) as ErrorCode[];

/** A text that may repeat text of the caller. */
const echo = z.string().max(MAX_ECHOED_CHARACTERS);

const message = echo.min(1).meta({
  description: 'The problem, for people to read. Do not parse it: branch on `error.code`.',
  examples: ['limit must be at most 100'],
});

/** One problem of the request. */
export const problem = z
  .strictObject({
    path: z
      .string()
      .max(MAX_PATH_CHARACTERS)
      .meta({
        description:
          'Path of the problem, in dots: `payload.items.0.id`. Empty for the body as a whole.',
        examples: ['payload.check_in'],
      }),
    message: message.meta({
      description: 'The problem at this path.',
      examples: ['must be at most 100'],
    }),
  })
  .meta({ id: 'Problem', description: 'One problem of the request.' });

/** The fields of the envelope, for answers that have other fields beside them. */
export const errorFields = {
  error: z
    .strictObject({
      type: z
        .enum(CODES.map((code) => CATALOGUE[code].type))
        .meta({ description: 'Category of the error.' }),
      code: z.enum(CODES).meta({ description: 'The error, for programs to branch on.' }),
      message,
      param: z
        .string()
        .min(1)
        .max(MAX_PATH_CHARACTERS)
        .optional()
        .meta({
          description: 'The field, parameter or header with the first problem.',
          examples: ['limit'],
        }),
      request_id: requestIdText.meta({
        description: 'The `X-Request-ID` of this answer. Name it when you report a problem.',
      }),
      details: z
        .array(problem)
        .min(1)
        .max(MAX_PROBLEMS)
        .optional()
        .meta({ description: `Every problem of the request, up to ${MAX_PROBLEMS}.` }),
    })
    .meta({ id: 'ErrorInfo', description: 'The error. New clients read nothing else.' }),
  statusCode: z
    .int32()
    .min(400)
    .max(599)
    .meta({ description: 'For older clients: the HTTP status.', deprecated: true }),
  timestamp: z.iso
    .datetime({ precision: 3 })
    .max(24)
    .meta({ description: 'For older clients: when this answer was made.', deprecated: true }),
  path: echo.regex(/^\//).meta({
    description: 'For older clients: the path of the request, without its query.',
    examples: ['/api/v1/web/properties'],
    deprecated: true,
  }),
  method: patternText(/^[A-Z-]+$/, 40).meta({
    description: 'For older clients: the method of the request.',
    deprecated: true,
  }),
  message: message.meta({
    description: 'For older clients: the same as `error.message`.',
    deprecated: true,
  }),
} as const;

/** The whole envelope. */
export const errorResource = z.strictObject(errorFields).meta({
  id: 'ErrorEnvelope',
  description: 'An error. New clients read only `error`.',
});
