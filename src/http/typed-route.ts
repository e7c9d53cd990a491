/**
 * The types of answers for `hc`, Hono's client, where Hono cannot see them: answers are sent as finished
 * bytes. Types only.
 */

import type { TypedResponse } from 'hono';
import type * as z from 'zod';
import type { errorResource } from '../openapi/error-resource.ts';
import type { ApiError } from './errors.ts';

/**
 * The answer to a request that is refused or fails. No operation answers 405, and the one that answers 503
 * says more in it.
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

/** The answer to an `If-None-Match` that names what there is. It has no body. */
export type NotModified = TypedResponse<null, 304, 'body'>;

/** A response whose content Hono reads from the type, as it does for `c.json`. */
export type Sent<Told> = Response & Told;
