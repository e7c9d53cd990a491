/** The id of a request, in its response, its errors and its log lines. */

import type { Context } from 'hono';

export const REQUEST_ID = 'X-Request-ID';

/** Can be sent back unchanged: the runtime replaces bytes that are not UTF-8 by U+FFFD. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it excludes them, as a field value does.
const REPEATABLE_ID = /^[^\x00-\x08\x0a-\x1f\x7f\ufffd]{1,200}$/u;

const assigned = new WeakMap<Request, string>();

/** Returns the client's `X-Request-ID` when it can be sent back, else `req_<random>`. */
export function resolveRequestId(c: Context): string {
  const known = assigned.get(c.req.raw);
  if (known !== undefined) return known;
  const sent = c.req.header(REQUEST_ID);
  const id =
    sent !== undefined && REPEATABLE_ID.test(sent)
      ? sent
      : `req_${crypto.randomUUID().replaceAll('-', '')}`;
  assigned.set(c.req.raw, id);
  return id;
}
