/** The request id, which appears in responses, errors and log lines. */

import type { Context } from 'hono';

export const REQUEST_ID = 'X-Request-ID';

/** Matches an id that can be sent back unchanged. The runtime replaces bytes that are not UTF-8 with U+FFFD. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it excludes them, as a field value does.
const REPEATABLE_ID = /^[^\x00-\x08\x0a-\x1f\x7f\ufffd]{1,200}$/u;

const assignedIds = new WeakMap<Request, string>();

/** Returns the client's `X-Request-ID` if it can be sent back unchanged, and `req_<random>` otherwise. */
export function resolveRequestId(c: Context): string {
  const assignedId = assignedIds.get(c.req.raw);
  if (assignedId !== undefined) return assignedId;
  const clientId = c.req.header(REQUEST_ID);
  const id =
    clientId !== undefined && REPEATABLE_ID.test(clientId)
      ? clientId
      : `req_${crypto.randomUUID().replaceAll('-', '')}`;
  assignedIds.set(c.req.raw, id);
  return id;
}
