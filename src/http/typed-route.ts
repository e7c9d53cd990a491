/** The types of answers for `hc`, Hono's client. Hono cannot infer them, because answers are sent as finished bytes. */

import type { TypedResponse } from 'hono';
import type * as z from 'zod';
import type { errorResource } from '../openapi/error-resource.ts';
import type { ApiError } from './errors.ts';

/**
 * The answer to a request that is refused or fails. No operation answers 405, and the 503 of detailed health has a type
 * of its own.
 */
type ErrorAnswer = TypedResponse<
  z.output<typeof errorResource>,
  Exclude<ApiError['status'], 405 | 503>,
  'json'
>;

/** An answer of success with a JSON body, or an error. */
export type Answered<Body, Status extends 200 | 202 = 200> =
  | TypedResponse<Body, Status, 'json'>
  | ErrorAnswer;

/** The answer to an `If-None-Match` with the current ETag. It has no body. */
export type NotModified = TypedResponse<null, 304, 'body'>;

/** A response that tells Hono's client the type of its content, as a result of `c.json` does. */
export type Sent<Told> = Response & Told;
